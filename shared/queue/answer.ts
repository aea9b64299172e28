import type { Doorbell } from '../message/doorbell.ts';
import { type AnswerContext, type Claimant, type Claiming, claim, isWaitingForHolders, takeOver } from './claim.ts';
import { CLEAN, soil } from './dirty.ts';
import { movedFrom, startsOver } from './generation.ts';
import { withNamed } from './inventory.ts';
import { isHeld, renewed } from './lease.ts';
import { isNews } from './news.ts';
import { type ItemKey, NOTHING_SEEN, type WorkItem } from './work-item.ts';

export type Answer =
  | Claiming
  /** Too many holders died. Store the item, then acknowledge: its alarm rings when its backoff is over. */
  | { readonly kind: 'backing-off'; readonly item: WorkItem }
  /** Its alarm is set already. Acknowledge. */
  | { readonly kind: 'already-backing-off' }
  /** Store the item, then acknowledge: the holder runs once more. */
  | { readonly kind: 'dirty'; readonly item: WorkItem }
  /** The holder knows already. Acknowledge. */
  | { readonly kind: 'already-dirty' }
  /** A completed run, or the one that is about to complete, has seen it all. Acknowledge. */
  | { readonly kind: 'no-news' }
  /** Running again cannot help until the generation moves. Store the item if there is one, then acknowledge. */
  | { readonly kind: 'quarantined'; readonly item?: WorkItem }
  /** The holder works for this very message, and may die yet. Do not acknowledge. */
  | { readonly kind: 'redelivered' };

/**
 * Decides what a doorbell means for an item. Pure: every store swaps what this returns, so the rules exist once.
 *
 * An item that is backing off is claimed by news all the same: what changed may be what was missing. It is never hot,
 * because each change is news once, its bucket bounds the runs, and the failures go on counting unless the object's own
 * generation moved. Only one whose holders die waits in spite of news: its runs harm others.
 */
export function answer(
  item: WorkItem | undefined,
  doorbell: Doorbell,
  claimant: Claimant,
  context: AnswerContext,
): Answer {
  if (item === undefined) {
    return claim(withNamed(newItem(doorbell.key), doorbell.news), doorbell, claimant, context.nowMs);
  }
  const named = withNamed(item, doorbell.news);
  const decided = decide(named, doorbell, claimant, context);
  return named === item ? decided : keepingNames(decided, named);
}

function decide(item: WorkItem, doorbell: Doorbell, claimant: Claimant, context: AnswerContext): Answer {
  const { nowMs } = context;
  const { lease, quarantine } = item;
  if (lease !== null && isHeld(lease, nowMs)) {
    // Our own claim, whose reply got lost.
    if (lease.holderIdentity === claimant.holderIdentity) {
      return { kind: 'claim', item: renewed({ ...item, lease }, nowMs), lost: [] };
    }
    if (lease.messageId === claimant.messageId) return { kind: 'redelivered' };
    if (!isNews(item, doorbell, nowMs)) return { kind: 'no-news' };
    const dirty = soil(item, doorbell.news);
    return dirty === item.dirty ? { kind: 'already-dirty' } : { kind: 'dirty', item: { ...item, dirty } };
  }

  // Whatever the message says: the holder died with what was dirty, and with the message that it worked for.
  if (lease !== null) return takeOver({ ...item, lease }, doorbell, claimant, context);

  if (isWaitingForHolders(item, nowMs)) {
    return startsOver(item, doorbell) ? claim(item, doorbell, claimant, nowMs) : { kind: 'already-backing-off' };
  }
  if (quarantine !== null) {
    return movedFrom({ uid: item.uid, generation: quarantine.generation }, item.seen, doorbell)
      ? claim(item, doorbell, claimant, nowMs)
      : { kind: 'quarantined' };
  }
  return isNews(item, doorbell, nowMs) ? claim(item, doorbell, claimant, nowMs) : { kind: 'no-news' };
}

/** What the item has learnt of its children is stored, also where nothing else is. */
function keepingNames(decided: Answer, item: WorkItem): Answer {
  switch (decided.kind) {
    case 'already-dirty':
      return { kind: 'dirty', item };
    case 'already-throttled':
      return { kind: 'throttled', item };
    case 'already-backing-off':
      return { kind: 'backing-off', item };
    case 'quarantined':
      return { kind: 'quarantined', item };
    case 'claim':
    case 'throttled':
    case 'backing-off':
    case 'dirty':
    case 'no-news':
    case 'redelivered':
      return decided;
  }
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
    bucket: null,
    unfinished: null,
    unfenced: [],
    seen: NOTHING_SEEN,
    children: [],
    runs: [],
  };
}
