import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../shared/errors.ts';
import type { KubeObject } from '../../../shared/kube/object.ts';
import type { Logger } from '../../../shared/ports/logger.ts';
import type { ApiConnection } from '../control-plane/api-connection.ts';
import { newestOnly } from './newest-only.ts';

export interface FollowOptions {
  readonly api: ApiConnection;
  readonly log: Logger;
  /** The collection to watch. */
  readonly path: string;
  /** Brings one object a step further. Must bear being called again for the same state. */
  readonly handle: (object: KubeObject) => Promise<void>;
  /** Called for every state of an object. What exists at the start is seen before anything is handled. */
  readonly onSeen?: (object: KubeObject) => void;
  readonly onGone?: (object: KubeObject) => void;
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 2_000;

/** Handles the newest state of every object of a collection, for ever, whatever happens to the API server. */
export async function follow(options: FollowOptions): Promise<never> {
  const { log, path } = options;
  const handle = newestOnly(options);
  let delayMs = FIRST_DELAY_MS;
  for (;;) {
    const connectedAt = performance.now();
    try {
      await followOnce(options, handle);
      log.debug('watch ended', { path });
    } catch (thrown) {
      log.warn('watch broke', { path, error: messageOf(thrown), retryInMs: delayMs });
    }
    if (performance.now() - connectedAt > MAX_DELAY_MS) delayMs = FIRST_DELAY_MS;
    await sleep(delayMs);
    delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
  }
}

async function followOnce(
  { api, path, onSeen, onGone }: FollowOptions,
  handle: (o: KubeObject) => void,
): Promise<void> {
  let existing: KubeObject[] | undefined = [];
  for await (const { type, object } of api.watch(path)) {
    switch (type) {
      case 'ADDED':
      case 'MODIFIED':
        onSeen?.(object);
        if (existing === undefined) handle(object);
        else existing.push(object);
        break;
      case 'DELETED':
        onGone?.(object);
        break;
      case 'BOOKMARK':
        // The first one closes the list of what exists.
        existing?.forEach(handle);
        existing = undefined;
        break;
      case 'ERROR':
        throw new Error(`the server said: ${JSON.stringify(object)}`);
    }
  }
}
