import { setTimeout as sleep } from 'node:timers/promises';
import type { Query, QuerySnapshot } from '@google-cloud/firestore';

/** The query's result, again after each change; only the newest when the reader is slower than the changes. */
export async function* listen(query: Query, signal: AbortSignal): AsyncGenerator<QuerySnapshot> {
  let newest: QuerySnapshot | undefined;
  let failure: Error | undefined;
  let arrived = Promise.withResolvers<void>();
  const unsubscribe = query.onSnapshot(
    (snapshot) => {
      newest = snapshot;
      arrived.resolve();
    },
    (error) => {
      failure = error;
      arrived.resolve();
    },
  );
  // At once, also while the reader is busy with a view: the client cannot be closed before.
  const stop = () => {
    unsubscribe();
    arrived.resolve();
  };
  signal.addEventListener('abort', stop, { once: true });
  try {
    while (!signal.aborted) {
      await arrived.promise;
      arrived = Promise.withResolvers<void>();
      if (signal.aborted) return;
      if (failure !== undefined) throw failure;
      const snapshot = newest;
      newest = undefined;
      if (snapshot !== undefined) yield snapshot;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    unsubscribe();
  }
}

/** Only an alarm that is set for sooner than this is late by it: all others are known before their time. */
const POLL_EVERY_MS = 100;
/** A query that takes long is asked less often: at most a fifth of the server's time is ours. */
const REST_FACTOR = 4;

/** What `look` sees, over and over: changed or not. */
export async function* poll<T>(look: () => Promise<T>, signal: AbortSignal): AsyncGenerator<T> {
  while (!signal.aborted) {
    const startedAt = performance.now();
    yield await look();
    const tookMs = performance.now() - startedAt;
    await sleep(Math.max(POLL_EVERY_MS, tookMs * REST_FACTOR), undefined, { signal }).catch(() => undefined);
  }
}
