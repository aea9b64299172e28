import type { Alarm, ItemKey, WorkItem } from '../queue/work-item.ts';

/** A work item as it was read. */
export interface ReadItem {
  readonly item: WorkItem | undefined;
  /** Opaque; what `write` and `remove` compare. Undefined when there is no item. */
  readonly revision: Revision | undefined;
  /** The store's own time of this read, epoch milliseconds with microseconds as fraction. The only clock for leases. */
  readonly nowMs: number;
}

export type Revision = string;

export type Swap =
  /** @prop nowMs the store's own time of this write, in the unit of `ReadItem.nowMs` */
  { readonly kind: 'stored'; readonly revision: Revision; readonly nowMs: number } | { readonly kind: 'lost' };

/**
 * Durable work items, changed only by compare-and-swap; one call is one RPC, and there are no transactions.
 *
 * Guarantees: of two writes that compare with the same revision at most one is stored, also when both would store
 * the same content (a nonce in every write: an unchanged document keeps its update time in Firestore).
 *
 * Errors: `TransientError` when the store did not answer.
 */
export interface WorkStore {
  read(key: ItemKey, signal: AbortSignal): Promise<ReadItem>;
  /** `expected` undefined means: the item must not exist. */
  write(item: WorkItem, expected: Revision | undefined, signal: AbortSignal): Promise<Swap>;
  remove(key: ItemKey, expected: Revision, signal: AbortSignal): Promise<Swap['kind']>;
  /** The items whose `wakeAt` has come by the store's time, longest overdue first, at most `limit`. */
  due(limit: number, signal: AbortSignal): Promise<readonly DueAlarm[]>;
  /**
   * One page of all items of a cluster, in an order of the store's own; the last item of a page leads to the next one.
   * Costs a read per item: for people, not for runs.
   */
  list(cluster: string, page: Page, signal: AbortSignal): Promise<readonly WorkItem[]>;
}

export interface DueAlarm {
  readonly key: ItemKey;
  readonly reason: Alarm['reason'];
}

export interface Page {
  readonly after?: ItemKey;
  readonly limit: number;
}
