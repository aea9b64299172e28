import type { Revision } from '../ports/work-store.ts';
import type { Reading } from './swap.ts';
import { formatItemKey, type WorkItem } from './work-item.ts';

/** An item as this process stored it when it completed a run. */
export interface RecentItem {
  readonly item: WorkItem;
  readonly revision: Revision;
  /** The store's time minus our monotonic clock, as of then. */
  readonly storeAheadMs: number;
  /** Monotonic milliseconds. */
  readonly storedAt: number;
}

/** Held at once; the least recently used is forgotten first. */
const MAX_ITEMS = 1_000;
/** Items with more children than this are large, and rare: their runs cost much more than a read. */
const MAX_CHILDREN = 32;
/** After this the clocks may have drifted apart by more than it is worth. */
const MAX_AGE_MS = 60_000;

const MAX_TRUST = 4;

/**
 * What a warm instance remembers of the items that it completed last, so that it need not read them again.
 *
 * Nothing is ever decided by it that could be wrong. A claim swaps against the remembered revision, and loses when
 * anybody else has changed the item since. And what a completed run has seen stays seen, whoever comes after it.
 *
 * A claim that loses costs a write more than one that reads first. So an instance trusts its memory for claims only as
 * long as it is mostly right, which it learns from every item that it reads: where many instances share the work, each
 * sees the writes of the others, and goes on reading.
 */
export class RecentItems {
  readonly #items = new Map<string, RecentItem>();
  #trust = 0;

  /** Whether a claim may rely on it. */
  get isTrusted(): boolean {
    return this.#trust >= 0;
  }

  remember(recent: RecentItem): void {
    const id = formatItemKey(recent.item.key);
    this.#items.delete(id);
    if (recent.item.children.length > MAX_CHILDREN) return;
    this.#items.set(id, recent);
    for (const oldest of this.#items.keys()) {
      if (this.#items.size <= MAX_ITEMS) return;
      this.#items.delete(oldest);
    }
  }

  /** @param now monotonic milliseconds */
  recall(key: WorkItem['key'], now: number): Reading | undefined {
    const id = formatItemKey(key);
    const recent = this.#items.get(id);
    if (recent === undefined) return undefined;
    if (now - recent.storedAt > MAX_AGE_MS) {
      this.#items.delete(id);
      return undefined;
    }
    const { item, revision, storeAheadMs } = recent;
    return { item, revision, nowMs: now + storeAheadMs, sentAt: now, from: 'memory' };
  }

  forget(key: WorkItem['key']): void {
    this.#items.delete(formatItemKey(key));
  }

  /** Tells whether what was recalled was still true. */
  learn(wasTrue: boolean): void {
    this.#trust = wasTrue ? Math.min(this.#trust + 1, MAX_TRUST) : Math.max(this.#trust - 2, -MAX_TRUST);
  }
}
