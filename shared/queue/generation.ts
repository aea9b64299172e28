import type { Doorbell } from '../message/doorbell.ts';
import type { Known, Seen, WorkItem } from './work-item.ts';

/**
 * Whether the sender knows that the object is gone, or another one, or another generation of it, than was known.
 *
 * A generation below it is a late message; so is a uid that is known to be gone.
 */
export function movedFrom(known: Known, { gone }: Seen, doorbell: Doorbell): boolean {
  if (doorbell.uid !== undefined && gone.includes(doorbell.uid)) return false;
  if (doorbell.deleted === true) return true;
  if (doorbell.uid !== undefined && known.uid !== null && doorbell.uid !== known.uid) return true;
  return doorbell.generation !== undefined && (known.generation === null || doorbell.generation > known.generation);
}

/** Whether what failed so far was about another generation, so that nothing is to be concluded from it any more. */
export function startsOver(item: WorkItem, doorbell: Doorbell): boolean {
  const known = lastKnown(item);
  return known.generation !== null && movedFrom(known, item.seen, doorbell);
}

/** The latest that a completed run has read, or that a claim after it was told. */
export function lastKnown({ uid, seen, unfinished }: WorkItem): Known {
  if (unfinished !== null) return { uid: unfinished.uid, generation: unfinished.generation };
  return { uid, generation: seen.generation };
}

/** What is known after this doorbell, too. */
export function withTold(known: Known, { gone }: Seen, { uid, generation }: Doorbell): Known {
  if (uid !== undefined && gone.includes(uid)) return known;
  const isOther = uid !== undefined && known.uid !== null && uid !== known.uid;
  if (isOther) return { uid, generation: generation ?? null };
  const newest = generation === undefined ? known.generation : Math.max(generation, known.generation ?? 0);
  return { uid: uid ?? known.uid, generation: newest };
}
