import type { Clock } from '../../ports/clock.ts';
import type { DueAlarm, Page, ReadItem, Revision, Swap, WorkStore } from '../../ports/work-store.ts';
import { formatItemKey, type ItemKey, type WorkItem } from '../../queue/work-item.ts';

interface Stored {
  readonly item: WorkItem;
  readonly revision: Revision;
}

/**
 * Work items in this process: for tests, simulation, and a laptop without emulators. Nothing survives the process.
 *
 * Its time keeps Firestore's promise: every write is later than all reads before it, and every read sees all writes up
 * to its time. It follows the monotonic clock, so setting the machine's clock expires no lease.
 */
export class MemoryWorkStore implements WorkStore {
  readonly #items = new Map<string, Stored>();
  readonly #clock: Clock;
  readonly #startedAt: number;
  #epoch: string | undefined;
  /** The latest time given out, in whole microseconds: fractions of a millisecond do not add up exactly. */
  #micros = 0;
  #writes = 0;
  readonly #waiting = new Set<AbortController>();

  constructor({ clock }: { readonly clock: Clock }) {
    this.#clock = clock;
    this.#startedAt = clock.now() - clock.monotonic();
  }

  async read(key: ItemKey, signal: AbortSignal): Promise<ReadItem> {
    signal.throwIfAborted();
    const stored = this.#items.get(formatItemKey(key));
    return { item: stored?.item, revision: stored?.revision, nowMs: this.#tick(0) / 1000 };
  }

  async write(item: WorkItem, expected: Revision | undefined, signal: AbortSignal): Promise<Swap> {
    signal.throwIfAborted();
    const id = formatItemKey(item.key);
    if (this.#items.get(id)?.revision !== expected) return { kind: 'lost' };
    const nowMs = this.#tick(1) / 1000;
    const revision = String(++this.#writes);
    this.#items.set(id, { item, revision });
    this.#changed();
    return { kind: 'stored', revision, nowMs };
  }

  async remove(key: ItemKey, expected: Revision, signal: AbortSignal): Promise<Swap['kind']> {
    signal.throwIfAborted();
    const id = formatItemKey(key);
    if (this.#items.get(id)?.revision !== expected) return 'lost';
    this.#tick(1);
    this.#items.delete(id);
    this.#changed();
    return 'stored';
  }

  async due(limit: number, signal: AbortSignal): Promise<readonly DueAlarm[]> {
    signal.throwIfAborted();
    const nowMs = this.#tick(0) / 1000;
    return [...this.#items.values()]
      .flatMap(({ item }) =>
        item.alarm !== null && item.alarm.wakeAt <= nowMs ? [{ key: item.key, ...item.alarm }] : [],
      )
      .sort((a, b) => a.wakeAt - b.wakeAt)
      .slice(0, limit)
      .map(({ key, reason }) => ({ key, reason }));
  }

  async list(cluster: string, { after, limit }: Page, signal: AbortSignal): Promise<readonly WorkItem[]> {
    signal.throwIfAborted();
    const start = after === undefined ? '' : formatItemKey(after);
    return [...this.#items]
      .filter(([id, { item }]) => item.key.cluster === cluster && id > start)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .slice(0, limit)
      .map(([, { item }]) => item);
  }

  /** The time at which it was first asked for: what another process holds at this place began at another time. */
  get epoch(): string {
    this.#epoch ??= String(this.#tick(1));
    return this.#epoch;
  }

  /** All items as they are at this moment. */
  snapshot(): { readonly items: readonly WorkItem[]; readonly nowMs: number } {
    return { items: [...this.#items.values()].map(({ item }) => item), nowMs: this.#tick(0) / 1000 };
  }

  /** Resolves when an item is written or removed, or `signal` aborts, or `ms` have passed. */
  async change(ms: number, signal: AbortSignal): Promise<void> {
    const waiter = new AbortController();
    this.#waiting.add(waiter);
    try {
      await this.#clock.sleep(ms, AbortSignal.any([signal, waiter.signal]));
    } catch (error) {
      if (!waiter.signal.aborted && !signal.aborted) throw error;
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  #changed(): void {
    for (const waiter of this.#waiting) waiter.abort();
  }

  /** The time now, and at least so many microseconds after the latest one given out. */
  #tick(atLeast: 0 | 1): number {
    const now = Math.floor((this.#startedAt + this.#clock.monotonic()) * 1000);
    this.#micros = Math.max(this.#micros + atLeast, now);
    return this.#micros;
  }
}
