import type { Timestamp } from '@google-cloud/firestore';
import type { Random } from '../../ports/random.ts';
import type { DueAlarm, Page, ReadItem, Revision, Swap, WorkStore } from '../../ports/work-store.ts';
import { type Alarm, formatItemKey, type ItemKey, type WorkItem } from '../../queue/work-item.ts';
import { Connection, type ConnectionOptions, unlessLost } from './connection.ts';
import {
  documentOf,
  fromDocument,
  itemsOf,
  MARKER_ID,
  msOf,
  NO_ALARM,
  revisionOf,
  SHARDS,
  toDocument,
} from './document.ts';

export interface FirestoreWorkStoreOptions extends ConnectionOptions {
  readonly random: Random;
  /** The clusters whose alarms `due` looks for; each is a list of its own. Items of any cluster can be read and written. */
  readonly clusters: readonly string[];
}

/** Work items in Firestore. Connects at the first call. */
export function openFirestoreWorkStore({ clusters, random, ...connection }: FirestoreWorkStoreOptions) {
  return new FirestoreWorkStore(new Connection(connection), clusters, random);
}

/**
 * Work items as documents `clusters/{cluster}/items/{hash}`: a revision is the document's update time, a swap is one
 * RPC with it as precondition, and the time is the server's read time, in microseconds.
 *
 * Needs the composite index (shard, wakeAt) on `items`; every other field should be exempt from indexing.
 */
class FirestoreWorkStore implements WorkStore {
  readonly #connection: Connection;
  readonly #clusters: readonly string[];
  readonly #random: Random;

  constructor(connection: Connection, clusters: readonly string[], random: Random) {
    this.#connection = connection;
    this.#clusters = clusters;
    this.#random = random;
  }

  async read(key: ItemKey, signal: AbortSignal): Promise<ReadItem> {
    return this.#connection.call(
      `read ${formatItemKey(key)}`,
      async ({ db, batches }) => {
        const snapshot = await batches.read(documentOf(db, key));
        const data = snapshot.data();
        return {
          item: data === undefined ? undefined : fromDocument(data),
          revision: snapshot.updateTime === undefined ? undefined : revisionOf(snapshot.updateTime),
          nowMs: msOf(snapshot.readTime),
        };
      },
      signal,
    );
  }

  async write(item: WorkItem, expected: Revision | undefined, signal: AbortSignal): Promise<Swap> {
    const data = toDocument(item, this.#random.id());
    return this.#connection.call(
      `write ${formatItemKey(item.key)}`,
      async ({ db, batches, Timestamp }) => {
        const document = documentOf(db, item.key);
        // An update replaces each field that it names as a whole, so nothing old is left within `seen`.
        const written = await unlessLost(
          expected === undefined
            ? batches.create(document, data)
            : batches.update(document, data, updateTimeOf(expected, Timestamp)),
        );
        if (written === 'lost') return { kind: 'lost' };
        const { writeTime } = written;
        return { kind: 'stored', revision: revisionOf(writeTime), nowMs: msOf(writeTime) };
      },
      signal,
    );
  }

  async remove(key: ItemKey, expected: Revision, signal: AbortSignal): Promise<Swap['kind']> {
    return this.#connection.call(
      `remove ${formatItemKey(key)}`,
      async ({ db, batches, Timestamp }) => {
        const removed = await unlessLost(batches.delete(documentOf(db, key), updateTimeOf(expected, Timestamp)));
        return removed === 'lost' ? 'lost' : 'stored';
      },
      signal,
    );
  }

  async due(limit: number, signal: AbortSignal): Promise<readonly DueAlarm[]> {
    const found = await Promise.all(this.#clusters.map((cluster) => this.#dueIn(cluster, limit, signal)));
    return found
      .flat()
      .sort((a, b) => msOf(a.wakeAt) - msOf(b.wakeAt))
      .slice(0, limit)
      .map(({ key, alarm: { reason } }) => ({ key, reason }));
  }

  async list(cluster: string, { after, limit }: Page, signal: AbortSignal): Promise<readonly WorkItem[]> {
    return this.#connection.call(
      `list the items of cluster ${cluster}`,
      async ({ db }) => {
        const items = itemsOf(db, cluster).orderBy('__name__').endBefore(MARKER_ID).limit(limit);
        const page = after === undefined ? items : items.startAfter(documentOf(db, after).id);
        return (await page.get()).docs.map((document) => fromDocument(document.data()));
      },
      signal,
    );
  }

  /** Loads the library, so that the first call need not. */
  prepare(): Promise<void> {
    return this.#connection.prepare();
  }

  /** After the last call has ended: one that is still under way would end the process with an unhandled rejection. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  /** Asks for the earliest alarm first. That read tells the server's time, and is the only one when nothing is due. */
  async #dueIn(cluster: string, limit: number, signal: AbortSignal): Promise<readonly DueItem[]> {
    const earliest = await this.#alarms(cluster, undefined, 1, signal);
    const [first] = earliest.alarms;
    if (first === undefined || msOf(first.wakeAt) > msOf(earliest.readTime)) return [];
    return (await this.#alarms(cluster, earliest.readTime, limit, signal)).alarms;
  }

  async #alarms(cluster: string, until: Timestamp | undefined, limit: number, signal: AbortSignal) {
    return this.#connection.call(
      `look for due alarms of cluster ${cluster}`,
      async ({ db }) => {
        const alarms = itemsOf(db, cluster).where('shard', 'in', SHARDS).where('wakeAt', '>', NO_ALARM);
        const wanted = until === undefined ? alarms : alarms.where('wakeAt', '<=', until);
        const snapshot = await wanted.orderBy('wakeAt').limit(limit).select('key', 'wakeAt', 'alarm').get();
        // Sound: `toDocument` wrote these fields, and the filter leaves out items without an alarm.
        return { alarms: snapshot.docs.map((document) => document.data() as DueItem), readTime: snapshot.readTime };
      },
      signal,
    );
  }
}

interface DueItem {
  readonly key: ItemKey;
  readonly wakeAt: Timestamp;
  readonly alarm: Alarm;
}

function updateTimeOf(revision: Revision, time: typeof Timestamp): Timestamp {
  const [seconds, nanoseconds] = revision.split('.').map(Number);
  return new time(seconds ?? 0, nanoseconds ?? 0);
}
