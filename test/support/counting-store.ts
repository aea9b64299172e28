import type { WorkStore } from '../../shared/ports/work-store.ts';

/** Notes calls as they go through. */
export function counting(store: WorkStore, calls: string[]): WorkStore {
  const noted = <T>(name: string, call: () => T): T => {
    calls.push(name);
    return call();
  };
  return {
    read: (...args) => noted('read', () => store.read(...args)),
    write: (...args) => noted('write', () => store.write(...args)),
    remove: (...args) => noted('remove', () => store.remove(...args)),
    due: (...args) => noted('due', () => store.due(...args)),
    list: (...args) => noted('list', () => store.list(...args)),
  };
}
