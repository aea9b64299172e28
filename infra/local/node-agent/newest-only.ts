import { setTimeout as sleep } from 'node:timers/promises';
import { ConflictError, messageOf } from '../../../shared/errors.ts';
import { isNotFound } from '../../../shared/kube/api-error.ts';
import type { KubeObject } from '../../../shared/kube/object.ts';
import type { Logger } from '../../../shared/ports/logger.ts';

export interface NewestOnlyOptions {
  readonly handle: (object: KubeObject) => Promise<void>;
  readonly log: Logger;
}

const RETRY_MS = 500;

/**
 * Handles one state of an object at a time. Of the states that come meanwhile only the newest is kept, so the last
 * one is always handled; objects do not wait for each other. What failed is tried again.
 */
export function newestOnly({ handle, log }: NewestOnlyOptions): (object: KubeObject) => void {
  /** By uid: the newest state that nobody has handled, for every object that is being handled. */
  const waiting = new Map<string, KubeObject | undefined>();

  return (object) => {
    const uid = object.metadata.uid ?? '';
    const busy = waiting.has(uid);
    waiting.set(uid, object);
    if (!busy) void work(uid);
  };

  async function work(uid: string): Promise<void> {
    for (let object = waiting.get(uid); object !== undefined; object = waiting.get(uid)) {
      waiting.set(uid, undefined);
      const { kind, metadata } = object;
      try {
        await handle(object);
      } catch (thrown) {
        // It has changed or gone since: the watch brings what is true now.
        if (thrown instanceof ConflictError || isNotFound(thrown)) continue;
        log.warn('cannot handle object', {
          kind,
          key: `${metadata.namespace}/${metadata.name}`,
          error: messageOf(thrown),
        });
        await sleep(RETRY_MS);
        if (waiting.get(uid) === undefined) waiting.set(uid, object);
      }
    }
    waiting.delete(uid);
  }
}
