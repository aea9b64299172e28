import { withoutHolder } from './claim.ts';
import { CLEAN, soil } from './dirty.ts';
import { isHeld } from './lease.ts';
import type { WorkItem } from './work-item.ts';

/**
 * The item as a person wants it who has mended what made it fail: out of quarantine and backoff, failures forgotten, its
 * alarm due. One that is being worked on is looked at once more.
 *
 * Its bucket stays as it is: an object that runs too often does not get better by running more.
 */
export function redrive(item: WorkItem, nowMs: number): WorkItem {
  const { lease } = item;
  if (lease !== null && isHeld(lease, nowMs)) return { ...item, dirty: soil(item, { kind: 'unknown' }) };
  return {
    ...(lease === null ? item : withoutHolder({ ...item, lease })),
    dirty: CLEAN,
    failures: 0,
    quarantine: null,
    unfinished: null,
    alarm: { wakeAt: nowMs, reason: 'redrive' },
  };
}

/** Whether only a person, time or a change makes it run again. */
export function isStopped({ quarantine, alarm }: WorkItem): boolean {
  return quarantine !== null || alarm?.reason === 'backoff';
}
