import type { Query, QueryDocumentSnapshot, QuerySnapshot, Timestamp } from '@google-cloud/firestore';
import { messageOf, OperatorError, TransientError } from '../../errors.ts';
import type { AlarmSource, AlarmView, StoreState } from '../../ports/alarm-source.ts';
import type { AlarmWindow, UpcomingAlarm } from '../../queue/alarm-table.ts';
import type { Alarm, ItemKey } from '../../queue/work-item.ts';
import { type Client, Connection, type ConnectionOptions, unlessLost } from './connection.ts';
import { itemsOf, MARKER, markerOf, msOf, NO_ALARM, revisionOf, SHARDS } from './document.ts';
import { listen, poll } from './follow-query.ts';

/**
 * How changes are heard of. `listen`: by a real-time query. `poll`: by asking every 100 ms, for the emulator. That one
 * goes through all items for each listener within each commit (with a thousand items a write takes 30 ms instead of one),
 * and fails a commit that meets the end of a listener.
 */
export type ChangeMode = 'listen' | 'poll';

export interface FirestoreAlarmSourceOptions extends ConnectionOptions {
  readonly cluster: string;
  /** @default 'listen' */
  readonly changes?: ChangeMode;
}

/** The alarms of the work items in Firestore. Connects at the first call. */
export function openFirestoreAlarmSource(options: FirestoreAlarmSourceOptions) {
  return new FirestoreAlarmSource(options);
}

/**
 * A window is one query over the composite index (shard, wakeAt).
 *
 * When it listens, each alarm that enters or leaves the window is billed as a read, and so is all that stands in it at
 * first; what happens outside of it costs nothing. Whole documents travel, because real-time queries take no field mask.
 * The library opens a broken stream again by itself, with a backoff of up to a minute.
 */
class FirestoreAlarmSource implements AlarmSource {
  readonly #connection: Connection;
  readonly #cluster: string;
  readonly #changes: ChangeMode;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor({ cluster, changes = 'listen', ...connection }: FirestoreAlarmSourceOptions) {
    this.#connection = new Connection(connection);
    this.#cluster = cluster;
    this.#changes = changes;
  }

  /** One read, of the marker, whose update time is the epoch: nobody ever writes it again. */
  async state(signal: AbortSignal): Promise<StoreState> {
    for (;;) {
      const { updateTime, readTime } = await this.#call(({ db }) => markerOf(db, this.#cluster).get(), signal);
      if (updateTime !== undefined) return { nowMs: msOf(readTime), epoch: revisionOf(updateTime) };
      await this.#call(({ db }) => unlessLost(markerOf(db, this.#cluster).create(MARKER)), signal);
    }
  }

  async *follow(window: AlarmWindow, signal: AbortSignal): AsyncIterable<AlarmView> {
    let known: string | undefined;
    try {
      for await (const { docs, readTime } of this.#snapshots(window, signal)) {
        if (signal.aborted) return;
        const alarms = docs.map(alarmOf);
        const version = JSON.stringify(alarms.map(({ id, wakeAt }) => [id, wakeAt]));
        if (version !== known) yield { alarms, nowMs: msOf(readTime) };
        known = version;
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof OperatorError) throw error;
      const what = `cannot follow the alarms of cluster ${this.#cluster}`;
      throw new TransientError('STORE_UNAVAILABLE', `${what}: ${messageOf(error)}`, { cause: error });
    }
  }

  /** Loads the library, so that the first call need not. */
  prepare(): Promise<void> {
    return this.#connection.prepare();
  }

  /** Ends the connection when the calls that were given up have ended: the library bears it no earlier. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#underWay);
    await this.#connection.close();
  }

  async *#snapshots(window: AlarmWindow, signal: AbortSignal): AsyncIterable<QuerySnapshot> {
    if (signal.aborted) return;
    const { db } = await this.#connection.connect();
    const items = itemsOf(db, this.#cluster);
    switch (this.#changes) {
      case 'listen':
        return yield* listen(within(items.where('shard', 'in', SHARDS), window), signal);
      case 'poll': {
        // The emulator needs no index, and would go through all items once for each shard.
        const query = within(items, window).select('key', 'wakeAt', 'alarm');
        return yield* poll(() => this.#call(() => query.get(), signal), signal);
      }
    }
  }

  #call<T>(rpc: (client: Client) => Promise<T>, signal: AbortSignal): Promise<T> {
    const track = (client: Client): Promise<T> => {
      const answer = rpc(client);
      const done = answer.then(NOTHING, NOTHING).finally(() => this.#underWay.delete(done));
      this.#underWay.add(done);
      return answer;
    };
    return this.#connection.call(`look for alarms of cluster ${this.#cluster}`, track, signal);
  }
}

const NOTHING = () => undefined;

function within(items: Query, { after, untilMs, limit }: AlarmWindow): Query {
  const alarms = items
    .where('wakeAt', '>', NO_ALARM)
    .where('wakeAt', '<=', new Date(untilMs))
    .orderBy('wakeAt')
    .orderBy('__name__')
    .limit(limit);
  return after === undefined ? alarms : alarms.startAfter(new Date(after.wakeAt), after.id);
}

function alarmOf(document: QueryDocumentSnapshot): UpcomingAlarm {
  // Sound: `toDocument` wrote these fields, and the filter leaves out items without an alarm.
  const { key, wakeAt, alarm } = document.data() as AlarmFields;
  return { id: document.id, key, wakeAt: msOf(wakeAt), reason: alarm.reason };
}

interface AlarmFields {
  readonly key: ItemKey;
  readonly wakeAt: Timestamp;
  readonly alarm: Alarm;
}
