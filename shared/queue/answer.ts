import type { Doorbell } from '../message/doorbell.ts';
import { CLEAN, soil } from './dirty.ts';
import { isHeld, type LeasedItem, nextToken, renewed, withLease } from './lease.ts';
import { isNews } from './news.ts';
import { type ItemKey, NOTHING_SEEN, type WorkItem } from './work-item.ts';

/** Who would work on the item, because of which message. */
export interface Claimant {
  /** Of this attempt alone: no other claim has it, not even of the same process for the same message. */
  readonly holderIdentity: string;
  readonly messageId: string;
  readonly leaseDurationMs: number;
}

export type Answer =
  /** Store the item, run, `complete`, and only then acknowledge. */
  | { readonly kind: 'claim'; readonly item: LeasedItem }
  /** Store the item, then acknowledge: the holder runs once more. */
  | { readonly kind: 'dirty'; readonly item: WorkItem }
  /** The holder knows already. Acknowledge. */
  | { readonly kind: 'already-dirty' }
  /** A completed run, or the one that is about to complete, has seen it all. Acknowledge. */
  | { readonly kind: 'no-news' }
  /** Running again cannot help until the generation moves. Acknowledge. */
  | { readonly kind: 'quarantined' }
  /** The holder works for this very message, and may die yet. Do not acknowledge. */
  | { readonly kind: 'redelivered' };

/**
 * Decides what a doorbell means for an item. Pure: every store swaps what this returns, so the rules exist once.
 *
 * An item that is backing off is claimed by news all the same: what changed may be what was missing. It is never hot,
 * because each change is news once, and the failures go on counting unless the object's own generation moved.
 */
export function answer(item: WorkItem | undefined, doorbell: Doorbell, claimant: Claimant, nowMs: number): Answer {
  if (item === undefined) return claim(newItem(doorbell.key), doorbell, claimant, nowMs);

  const { lease, quarantine } = item;
  if (lease !== null && isHeld(lease, nowMs)) {
    // Our own claim, whose reply got lost.
    if (lease.holderIdentity === claimant.holderIdentity) {
      return { kind: 'claim', item: renewed({ ...item, lease }, nowMs) };
    }
    if (lease.messageId === claimant.messageId) return { kind: 'redelivered' };
    if (!isNews(item, doorbell, nowMs)) return { kind: 'no-news' };
    const dirty = soil(item, doorbell.news);
    return dirty === item.dirty ? { kind: 'already-dirty' } : { kind: 'dirty', item: { ...item, dirty } };
  }

  // Whatever the message says: the holder died with what was dirty, and with the message that it worked for.
  if (lease !== null) return claim(item, doorbell, claimant, nowMs);

  if (quarantine !== null) {
    return movedFrom(item, quarantine.generation, doorbell)
      ? claim(item, doorbell, claimant, nowMs)
      : { kind: 'quarantined' };
  }
  return isNews(item, doorbell, nowMs) ? claim(item, doorbell, claimant, nowMs) : { kind: 'no-news' };
}

/**
 * A claim clears what is dirty, also what a dead holder left: the run starts after this is stored, and reads
 * everything, so it sees all that came before. What comes between our read and the swap makes the swap lose.
 */
function claim(item: WorkItem, doorbell: Doorbell, claimant: Claimant, nowMs: number): Answer {
  const { seen, failures } = item;
  const startsOver = seen.generation !== null && movedFrom(item, seen.generation, doorbell);
  const next = { ...item, dirty: CLEAN, quarantine: null, failures: startsOver ? 0 : failures };
  const lease = { ...claimant, token: nextToken(item, nowMs), renewTime: nowMs };
  return { kind: 'claim', item: withLease(next, lease) };
}

/**
 * Whether the sender knows that the object is gone, or another one, or another generation of it, than what failed.
 *
 * A generation below it is a late message; so is a uid that is known to be gone.
 */
function movedFrom({ uid, seen }: WorkItem, failed: number | null, doorbell: Doorbell): boolean {
  if (doorbell.uid !== undefined && seen.gone.includes(doorbell.uid)) return false;
  if (doorbell.deleted === true) return true;
  if (doorbell.uid !== undefined && uid !== null && doorbell.uid !== uid) return true;
  return doorbell.generation !== undefined && (failed === null || doorbell.generation > failed);
}

function newItem(key: ItemKey): WorkItem {
  return {
    key,
    uid: null,
    lease: null,
    token: 0,
    dirty: CLEAN,
    failures: 0,
    lastError: null,
    quarantine: null,
    alarm: null,
    seen: NOTHING_SEEN,
    children: [],
    runs: [],
  };
}
