import { CLEAN } from './dirty.ts';
import { inDoubt } from './inventory.ts';
import type { LeasedItem } from './lease.ts';
import type { WorkItem } from './work-item.ts';

/**
 * The item as a holder leaves it that must end before its run has: free, and due at once. Whoever answers starts over,
 * and reads everything, so what is dirty need not be kept.
 *
 * Not a failure, and not a lost holder. But calls of the run may still be under way, so its children are in doubt.
 */
export function release(item: LeasedItem, nowMs: number): WorkItem {
  const { unfinished } = item;
  return {
    ...item,
    lease: null,
    dirty: CLEAN,
    children: inDoubt(item.children),
    unfinished: unfinished === null ? null : { ...unfinished, claims: Math.max(0, unfinished.claims - 1) },
    alarm: { wakeAt: nowMs, reason: 'handover' },
  };
}
