import type { Lease, WorkItem } from './work-item.ts';

/** An item on which somebody works, or worked until they died. */
export type LeasedItem = WorkItem & { readonly lease: Lease };

/** @param nowMs the store's time; the holder's own clock and the contender's decide nothing */
export function isHeld(lease: Lease, nowMs: number): boolean {
  return nowMs < endOf(lease);
}

/**
 * Whether the lease is still the one that was given as `held`, maybe renewed.
 *
 * An expired lease that nobody has taken is still its holder's: the swap decides who is first.
 */
export function isHolder(item: WorkItem | undefined, held: Lease): item is LeasedItem {
  return item?.lease?.token === held.token && item.lease.holderIdentity === held.holderIdentity;
}

/**
 * A token above every one given before.
 *
 * The item's own memory ends with its removal, so the store's time in microseconds goes on from there: a read after
 * the removal is later than the read that led to any earlier token. Rounded, because as milliseconds with a fraction
 * the time is up to a quarter microsecond off, and cutting off would give two neighbours the same token.
 *
 * One exception: who read that there is no item, and creates it after others created and removed it, gives a token that
 * is lower than theirs, or the same. All their runs have ended by then (only a holder removes), and `isHolder` compares
 * the holder, too, so none of them is taken for the other.
 */
export function nextToken(item: WorkItem | undefined, nowMs: number): number {
  return Math.max((item?.token ?? 0) + 1, Math.round(nowMs * 1000));
}

/** The item under this lease. Its alarm is the end of the lease, so a holder that dies is replaced without any message. */
export function withLease(item: WorkItem, lease: Lease): LeasedItem {
  return { ...item, lease, token: lease.token, alarm: { wakeAt: endOf(lease), reason: 'lease' } };
}

/** The item with its lease counted from now. */
export function renewed(item: LeasedItem, nowMs: number): LeasedItem {
  return withLease(item, { ...item.lease, renewTime: nowMs });
}

/** When the lease may be taken from its holder, in the store's time. */
function endOf({ renewTime, leaseDurationMs }: Lease): number {
  return renewTime + leaseDurationMs;
}
