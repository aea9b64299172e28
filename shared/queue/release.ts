import { CLEAN } from './dirty.ts';
import { inDoubt } from './inventory.ts';
import type { LeasedItem } from './lease.ts';
import type { WorkItem } from './work-item.ts';

/** More than ever end soon after each other, because the fifth lost one and all after it back off. */
const MAX_UNFENCED = 32;

/**
 * The item without a holder whose run has not ended. Calls of that run may still be under way: its children are in doubt,
 * and in strict mode the next claimant keeps it out.
 */
export function withoutLease(item: LeasedItem): WorkItem {
  return {
    ...item,
    lease: null,
    dirty: CLEAN,
    children: inDoubt(item.children),
    unfenced: [item.lease.holderIdentity, ...item.unfenced].slice(0, MAX_UNFENCED),
  };
}

/**
 * The item as a holder leaves it that must end before its run has: free, and due at once. Whoever answers starts over,
 * and reads everything, so what is dirty need not be kept. Neither a failure nor a lost holder.
 */
export function release(item: LeasedItem, nowMs: number): WorkItem {
  const { unfinished } = item;
  return {
    ...withoutLease(item),
    unfinished: unfinished === null ? null : { ...unfinished, claims: Math.max(0, unfinished.claims - 1) },
    alarm: { wakeAt: nowMs, reason: 'handover' },
  };
}
