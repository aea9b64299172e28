import type { Firestore, Query, QueryDocumentSnapshot, QuerySnapshot, Timestamp } from '@google-cloud/firestore';
import { messageOf, TransientError } from '../../errors.ts';
import type { AlarmSource, AlarmView } from '../../ports/alarm-source.ts';
import type { AlarmWindow, UpcomingAlarm } from '../../queue/alarm-table.ts';
import type { ItemKey } from '../../queue/work-item.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import { itemsOf, msOf, NO_ALARM, SHARDS } from './document.ts';

export interface FirestoreAlarmSourceOptions extends ConnectionOptions {
  readonly cluster: string;
}

/** The alarms of the work items in Firestore. Connects at the first call. */
export function openFirestoreAlarmSource({ cluster, ...connection }: FirestoreAlarmSourceOptions) {
  return new FirestoreAlarmSource(new Connection(connection), cluster);
}

/**
 * A window is one real-time query over the composite index (shard, wakeAt).
 *
 * Each alarm that enters or leaves the window is billed as a read, and so is all that stands in it at first; what
 * happens outside of it costs nothing. Whole documents travel: real-time queries take no field mask (the emulator does).
 *
 * The library opens a broken stream again by itself, with a backoff of up to a minute.
 */
class FirestoreAlarmSource implements AlarmSource {
  readonly #connection: Connection;
  readonly #cluster: string;

  constructor(connection: Connection, cluster: string) {
    this.#connection = connection;
    this.#cluster = cluster;
  }

  /** One read, of a document that does not exist. */
  now(signal: AbortSignal): Promise<number> {
    return this.#connection.call(
      "ask for the store's time",
      async ({ db }) => msOf((await itemsOf(db, this.#cluster).doc('time').get()).readTime),
      signal,
    );
  }

  async *follow(window: AlarmWindow, signal: AbortSignal): AsyncIterable<AlarmView> {
    if (signal.aborted) return;
    const { db } = await this.#connection.connect();
    try {
      for await (const { docs, readTime } of listen(queryOf(db, this.#cluster, window), signal)) {
        yield { alarms: docs.map(alarmOf), nowMs: msOf(readTime) };
      }
    } catch (error) {
      const what = `cannot follow the alarms of cluster ${this.#cluster}`;
      throw new TransientError('STORE_UNAVAILABLE', `${what}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Loads the library, so that the first call need not. */
  prepare(): Promise<void> {
    return this.#connection.prepare();
  }

  async close(): Promise<void> {
    await this.#connection.close();
  }
}

function queryOf(db: Firestore, cluster: string, { after, untilMs, limit }: AlarmWindow): Query {
  const alarms = itemsOf(db, cluster)
    .where('shard', 'in', SHARDS)
    .where('wakeAt', '>', NO_ALARM)
    .where('wakeAt', '<=', new Date(untilMs))
    .orderBy('wakeAt')
    .orderBy('__name__')
    .limit(limit);
  return after === undefined ? alarms : alarms.startAfter(new Date(after.wakeAt), after.id);
}

function alarmOf(document: QueryDocumentSnapshot): UpcomingAlarm {
  // Sound: `toDocument` wrote both fields, and the filter leaves out items without an alarm.
  const { key, wakeAt } = document.data() as { readonly key: ItemKey; readonly wakeAt: Timestamp };
  return { id: document.id, key, wakeAt: msOf(wakeAt) };
}

/** The query's result, again after each change; only the newest when the reader is slower than the changes. */
async function* listen(query: Query, signal: AbortSignal): AsyncGenerator<QuerySnapshot> {
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
