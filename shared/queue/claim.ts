import type { Doorbell } from '../message/doorbell.ts';
import { backoffMs } from './backoff.ts';
import { take } from './bucket.ts';
import { CLEAN } from './dirty.ts';
import { lastKnown, startsOver, withTold } from './generation.ts';
import { type LeasedItem, nextToken, withLease } from './lease.ts';
import { withoutLease } from './release.ts';
import type { Alarm, WorkItem } from './work-item.ts';

/** Who would work on the item, because of which message. */
export interface Claimant {
  /** Of this attempt alone: no other claim has it, not even of the same process for the same message. */
  readonly holderIdentity: string;
  readonly messageId: string;
  readonly leaseDurationMs: number;
}

export interface AnswerContext {
  /** The store's time. */
  readonly nowMs: number;
  /** Chance for a backoff, uniform in [0, 1). */
  readonly fraction: number;
}

export type Claiming =
  /**
   * Store the item, run, `complete`, and only then acknowledge.
   *
   * @prop lost who had the lease before and lost it, newest first: in strict mode put them on the fence, then store
   */
  | { readonly kind: 'claim'; readonly item: LeasedItem; readonly lost: readonly string[] }
  /** The object has no run left. Store the item, then acknowledge: its alarm rings when there is one. */
  | { readonly kind: 'throttled'; readonly item: WorkItem }
  /** The alarm is set already. Acknowledge. */
  | { readonly kind: 'already-throttled' };

/** So many holders in a row may die before the object is suspected of killing them. */
const MAX_LOST_HOLDERS = 5;

/**
 * A claim clears what is dirty: the run starts after this is stored, and reads everything, so it sees all that came
 * before. What comes between our read and the swap makes the swap lose.
 *
 * It costs a run of the bucket, also for a new generation: somebody who changes the spec a hundred times per second is a
 * loop, too. Nobody waits long for it, because the one run that comes within a second sees the latest spec.
 */
export function claim(item: WorkItem, doorbell: Doorbell, claimant: Claimant, nowMs: number): Claiming {
  const { failures, unfinished } = startsOver(item, doorbell) ? { failures: 0, unfinished: null } : item;
  const next: WorkItem = { ...item, lease: null, dirty: CLEAN, quarantine: null, failures, unfinished };
  const { unfenced: lost } = item;
  const taking = take(item.bucket, nowMs);
  if (taking.kind === 'empty') return throttle(item, next, taking.tokenAt, nowMs);
  const claims = (unfinished?.claims ?? 0) + 1;
  const counted = { ...withTold(lastKnown(next), item.seen, doorbell), claims };
  const lease = { ...claimant, token: nextToken(item, nowMs), renewTime: nowMs };
  const claimed = { ...next, bucket: taking.bucket, unfinished: counted, unfenced: [] };
  return { kind: 'claim', item: withLease(claimed, lease), lost };
}

/** An alarm that comes earlier stays: whoever answers it will set this one. */
function throttle(item: WorkItem, next: WorkItem, tokenAt: number, nowMs: number): Claiming {
  const { alarm, failures, unfinished } = item;
  const isSet = alarm !== null && nowMs < alarm.wakeAt && alarm.wakeAt <= tokenAt;
  if (isSet && next.failures === failures && next.unfinished === unfinished) return { kind: 'already-throttled' };
  const untilToken: Alarm = { wakeAt: tokenAt, reason: 'throttled' };
  return { kind: 'throttled', item: { ...next, alarm: isSet ? alarm : untilToken } };
}

/**
 * The lease has ended, and nobody has completed the run: its holder died, with the message that it worked for, or
 * overslept. That counts as a failure, but one of the process: the object is claimed at once.
 *
 * Unless it happens every time. An object whose plan never returns, or takes all memory, takes its process with it, and
 * with that the runs of others; so from the fifth holder on it backs off like any other failure.
 */
export function takeOver(
  item: LeasedItem,
  doorbell: Doorbell,
  claimant: Claimant,
  { nowMs, fraction }: AnswerContext,
): Claiming | { readonly kind: 'backing-off'; readonly item: WorkItem } {
  const lost = withoutHolder(item);
  if (!hasLostTooMany(lost) || startsOver(lost, doorbell)) return claim(lost, doorbell, claimant, nowMs);
  const wakeAt = nowMs + backoffMs(lost.failures, fraction);
  return { kind: 'backing-off', item: { ...lost, alarm: { wakeAt, reason: 'backoff' } } };
}

/** Whether the item waits because its holders died; news does not shorten that, only another generation does. */
export function isWaitingForHolders(item: WorkItem, nowMs: number): boolean {
  return item.alarm !== null && nowMs < item.alarm.wakeAt && hasLostTooMany(item);
}

function hasLostTooMany({ unfinished }: WorkItem): boolean {
  return unfinished !== null && unfinished.claims >= MAX_LOST_HOLDERS;
}

/** The item when its lease has ended and nobody has completed the run. */
export function withoutHolder(item: LeasedItem): WorkItem {
  const { holderIdentity } = item.lease;
  const message = `${holderIdentity} died during the run, or overslept its lease`;
  return {
    ...withoutLease(item),
    failures: item.failures + 1,
    lastError: { code: 'HOLDER_LOST', message },
    // An item of a build that did not count: this is the first one.
    unfinished: item.unfinished ?? { ...lastKnown(item), claims: 1 },
  };
}
