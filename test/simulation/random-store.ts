/** The store as one worker has it, watched: every change of an item is one that its author may make (I2, I6). */
import { isDeepStrictEqual } from 'node:util';
import type { Page, ReadItem, Revision, Swap, WorkStore } from '../../shared/ports/work-store.ts';
import type { ItemKey, WorkItem } from '../../shared/queue/work-item.ts';

const NEVER = new AbortController().signal;

export class WatchedStore implements WorkStore {
  readonly #inner: WorkStore;
  readonly #author: string;
  readonly #report: (problem: string) => void;

  constructor(inner: WorkStore, author: string, report: (problem: string) => void) {
    this.#inner = inner;
    this.#author = author;
    this.#report = report;
  }

  read(key: ItemKey): Promise<ReadItem> {
    return this.#inner.read(key, NEVER);
  }

  async write(item: WorkItem, expected: Revision | undefined): Promise<Swap> {
    const before = await this.read(item.key);
    const swap = await this.#inner.write(item, expected, NEVER);
    const problem = swap.kind === 'stored' ? this.#problem(before, item) : undefined;
    if (problem !== undefined) this.#report(`${this.#author}: ${problem}`);
    return swap;
  }

  async remove(key: ItemKey, expected: Revision): Promise<Swap['kind']> {
    const { item } = await this.read(key);
    const swap = await this.#inner.remove(key, expected, NEVER);
    if (swap === 'stored' && !this.#holds(item)) this.#report(`${this.#author}: I2: nobody but the holder ends a run`);
    return swap;
  }

  due(limit: number): Promise<readonly ItemKey[]> {
    return this.#inner.due(limit, NEVER);
  }

  list(cluster: string, page: Page): Promise<readonly WorkItem[]> {
    return this.#inner.list(cluster, page, NEVER);
  }

  #problem({ item: before, nowMs }: ReadItem, next: WorkItem): string | undefined {
    if (this.#holds(before)) {
      return before === undefined || next.token >= before.token ? undefined : 'I2: tokens grow';
    }
    const [had, has] = [before?.lease ?? null, next.lease];
    if (has !== null && has.token === had?.token) {
      const isNewsAtMost = isDeepStrictEqual({ ...next, dirty: before?.dirty }, before);
      return isNewsAtMost ? undefined : 'I2: nobody but the holder changes an item, except to leave news';
    }
    const isFree = had === null || nowMs >= had.renewTime + had.leaseDurationMs;
    if (!isFree) return 'I6: a lease is taken only after its end by the store’s clock';
    return has === null || before === undefined || has.token > before.token ? undefined : 'I2: tokens grow';
  }

  #holds(item: WorkItem | undefined): boolean {
    return item?.lease?.holderIdentity.startsWith(`${this.#author}.`) === true;
  }
}
