import { LeaseLostError } from '../errors.ts';
import type { Doorbell } from '../message/doorbell.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { DueAlarm, Revision, WorkStore } from '../ports/work-store.ts';
import { answer, type Answer as Decision } from './answer.ts';
import { complete, type RunReport } from './complete.ts';
import { withIntended } from './inventory.ts';
import { isHolder, type LeasedItem, renewed } from './lease.ts';
import { RecentItems } from './recent-items.ts';
import { redrive } from './redrive.ts';
import { release } from './release.ts';
import { decideAndSwap, type Reading, type Step, type SwapContext, type WriteStep, type Written } from './swap.ts';
import { type ChildRecord, formatItemKey, type ItemKey, type Lease, type WorkItem } from './work-item.ts';

export interface WorkQueueOptions {
  readonly store: WorkStore;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Names this process in leases; each claim adds an id of its own, as in `rev.instance.claim`. It travels in a header:
   * letters, digits, `-`, `_` and `.` only, at most 200.
   */
  readonly holderIdentity: string;
  /** How long a holder that is not heard of is waited for. @default 6000 */
  readonly leaseDurationMs?: number;
  /** Strict mode's: see to it that nobody of these changes anything in the cluster any more. @default nothing */
  readonly keepOut?: KeepOut;
}

export type KeepOut = (cluster: string, holders: readonly string[], signal: AbortSignal) => Promise<void>;

/** The right to work on one object, until `validUntil`. */
export interface Claim {
  readonly item: LeasedItem;
  readonly revision: Revision;
  /** Fencing token: each run of an item has its own, and a later one a higher one; see `nextToken` for removals. */
  readonly token: number;
  /** Monotonic milliseconds. From here on the holder must not write; the store waits a little longer. */
  readonly validUntil: number;
  /** By how much the store's time is ahead of our monotonic clock, or a little more: counted from a call of ours. */
  readonly storeAheadMs: number;
}

/** `ack`: whether the message may be forgotten now. A claimed one may when the run has been completed. */
export type Answered =
  | { readonly kind: 'claimed'; readonly claim: Claim }
  | { readonly kind: 'dirty' | 'no-news' | 'quarantined' | 'throttled' | 'backing-off'; readonly ack: true }
  | { readonly kind: 'redelivered'; readonly ack: false };

export type Completed =
  /** Somebody else holds the item: the message must not be acknowledged. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'idle' | 'quarantined' | 'gone' }
  /** News arrived, and there is no budget: publish a doorbell. If that gets lost, the item's alarm rings. */
  | { readonly kind: 'ring' }
  /** @prop wakeAt milliseconds of the store's clock */
  | { readonly kind: 'wake'; readonly wakeAt: number }
  /** News arrived: run again under this claim. */
  | { readonly kind: 'rerun'; readonly claim: Claim };

/** The part of a lease that its holder does not use, for clocks that do not run equally fast. */
const MARGIN = 0.1;

/**
 * One object, one worker, no lost change: the claim → complete protocol on any store with compare-and-swap.
 *
 * The rules are the pure functions next to this file (`answer`, `complete`, `lease`); this class reads, lets them
 * decide, and swaps. The only clock that decides is the store's; our own monotonic one tells a holder when to stop.
 *
 * Guarantees: after a doorbell is acknowledged, a run starts later than its news, whoever dies, as long as `due` alarms
 * are rung (I1). A claim has one holder, and nobody else changes its item but to leave news, and names of children (I2).
 * No news costs at most one read (I3).
 * Does not guarantee: that a holder which overslept writes nothing to the cluster. Preconditions of its writes do that.
 */
export class WorkQueue {
  readonly leaseDurationMs: number;
  readonly #holderIdentity: string;
  readonly #keepOut: KeepOut | undefined;
  readonly #swap: SwapContext;
  readonly #recent = new RecentItems();

  constructor({ store, clock, random, holderIdentity, leaseDurationMs = 6000, keepOut }: WorkQueueOptions) {
    this.leaseDurationMs = leaseDurationMs;
    this.#keepOut = keepOut;
    this.#holderIdentity = holderIdentity;
    this.#swap = { store, clock, random };
  }

  /**
   * Answers one delivery of a doorbell: claims the object for it, or says why no run is needed.
   *
   * In strict mode whoever lost the lease is kept out of the cluster before this claim is stored.
   *
   * @throws {TransientError} when the store did not answer, or the item is too contended: do not acknowledge. Likewise
   * whatever kept a lost holder from being kept out.
   */
  async answer(doorbell: Doorbell, messageId: string, signal: AbortSignal): Promise<Answered> {
    const holderIdentity = `${this.#holderIdentity}.${this.#swap.random.id()}`;
    const claimant = { holderIdentity, messageId, leaseDurationMs: this.leaseDurationMs };
    const fraction = this.#swap.random.fraction();
    const remembered = this.#recent.recall(doorbell.key, this.#swap.clock.monotonic());
    const write = (item: WorkItem, answered: (written: Written) => Answered): WriteStep<Answered> => ({
      kind: 'write',
      item,
      stored: (written) => {
        this.#recent.forget(doorbell.key);
        return answered(written);
      },
    });
    return decideAndSwap(
      doorbell.key,
      ({ item, nowMs, revision, from }): Step<Answered> => {
        const decision = answer(item, doorbell, claimant, { nowMs, fraction });
        if (from === 'memory' && !this.#canTrust(decision, doorbell)) return { kind: 'unsure' };
        if (from === 'store' && remembered !== undefined) {
          this.#recent.learn(revision === remembered.revision);
          if (revision !== remembered.revision) this.#recent.forget(doorbell.key);
        }
        switch (decision.kind) {
          case 'claim': {
            const { item: claimed, lost } = decision;
            const claiming = write(claimed, (written) => {
              if (from === 'memory') this.#recent.learn(true);
              return { kind: 'claimed', claim: claimOf(claimed, written) };
            });
            if (lost.length === 0) return claiming;
            // First: whoever dies after it has robbed nobody, and the one it has shut out had lost its lease anyway.
            return { ...claiming, before: async (s) => await this.#keepOut?.(doorbell.key.cluster, lost, s) };
          }
          case 'dirty':
          case 'throttled':
          case 'backing-off':
            return write(decision.item, () => ({ kind: decision.kind, ack: true }));
          case 'already-dirty':
            return { kind: 'keep', value: { kind: 'dirty', ack: true } };
          case 'already-throttled':
            return { kind: 'keep', value: { kind: 'throttled', ack: true } };
          case 'already-backing-off':
            return { kind: 'keep', value: { kind: 'backing-off', ack: true } };
          case 'no-news':
            return { kind: 'keep', value: { kind: 'no-news', ack: true } };
          case 'quarantined': {
            const value: Answered = { kind: 'quarantined', ack: true };
            return decision.item === undefined ? { kind: 'keep', value } : write(decision.item, () => value);
          }
          case 'redelivered':
            return { kind: 'keep', value: { kind: 'redelivered', ack: false } };
        }
      },
      this.#swap,
      signal,
      remembered,
    );
  }

  /**
   * Records children that are about to be created, so that a crash leaves no orphan. Costs nothing for known ones.
   *
   * @throws {LeaseLostError} when the token is not ours any more
   */
  async intend(claim: Claim, children: readonly ChildRecord[], signal: AbortSignal): Promise<Claim> {
    if (withIntended(claim.item, children) === claim.item) return claim;
    return this.#change(claim, (held) => withIntended(held, children), signal);
  }

  /**
   * Counts the lease from now.
   *
   * @throws {LeaseLostError} when the token is not ours any more
   */
  async renew(claim: Claim, signal: AbortSignal): Promise<Claim> {
    return this.#change(claim, renewed, signal);
  }

  /**
   * Gives the claim back before its run has ended; ring the item with news of the kind `alarm` then.
   *
   * @throws {TransientError} when the store did not answer: the lease runs out by itself
   */
  async release(claim: Claim, signal: AbortSignal): Promise<'released' | 'lost'> {
    return decideAndSwap(
      claim.item.key,
      ({ item, nowMs }): Step<'released' | 'lost'> =>
        isHolder(item, claim.item.lease)
          ? { kind: 'write', item: release(item, nowMs), stored: () => 'released' }
          : { kind: 'keep', value: 'lost' },
      this.#swap,
      signal,
      this.#known(claim),
    );
  }

  /**
   * Ends the run, and with it the claim: `rerun` comes with another one.
   *
   * @throws {TransientError} when the store did not answer: do not acknowledge, the lease runs out by itself
   */
  async complete(
    claim: Claim,
    report: RunReport,
    { canRerun }: { readonly canRerun: boolean },
    signal: AbortSignal,
  ): Promise<Completed> {
    const fraction = this.#swap.random.fraction();
    return decideAndSwap(
      claim.item.key,
      ({ item, nowMs }): Step<Completed> => {
        const completion = complete(item, claim.item.lease, report, { nowMs, canRerun, fraction });
        switch (completion.kind) {
          case 'lost':
            return { kind: 'keep', value: completion };
          case 'gone':
            return { kind: 'remove', value: completion };
          case 'idle':
          case 'ring':
          case 'quarantined':
          case 'wake': {
            const { item: completed, ...rest } = completion;
            const stored = (written: Written): Completed => {
              const storeAheadMs = aheadOf(written);
              this.#recent.remember({ item: completed, ...written, storeAheadMs, storedAt: written.sentAt });
              return rest;
            };
            return { kind: 'write', item: completed, stored };
          }
          case 'rerun': {
            const { item: again } = completion;
            return {
              kind: 'write',
              item: again,
              stored: (written) => ({ kind: 'rerun', claim: claimOf(again, written) }),
            };
          }
        }
      },
      this.#swap,
      signal,
      this.#known(claim),
    );
  }

  /**
   * Releases an item from quarantine and backoff; ring it with news of the kind `alarm` then.
   *
   * @returns the item as it was; undefined when there is none
   * @throws {TransientError} when the store did not answer
   */
  async redrive(key: ItemKey, signal: AbortSignal): Promise<WorkItem | undefined> {
    return decideAndSwap(
      key,
      ({ item, nowMs }): Step<WorkItem | undefined> =>
        item === undefined
          ? { kind: 'keep', value: undefined }
          : { kind: 'write', item: redrive(item, nowMs), stored: () => item },
      this.#swap,
      signal,
    );
  }

  /** The alarms that are due, longest overdue first. Ring each of them with news of the kind `alarm`. */
  async due(limit: number, signal: AbortSignal): Promise<readonly DueAlarm[]> {
    return this.#swap.store.due(limit, signal);
  }

  /**
   * Whether a decision from memory needs no look at the store: those that swap, because the swap looks; and that a
   * completed run has seen these versions, because that stays so.
   */
  #canTrust(decision: Decision, { news }: Doorbell): boolean {
    if (decision.kind === 'no-news') return news.kind === 'versions';
    return decision.kind === 'claim' && this.#recent.isTrusted;
  }

  /** Changes the item under our token. */
  async #change(
    claim: Claim,
    next: (held: LeasedItem, nowMs: number) => LeasedItem,
    signal: AbortSignal,
  ): Promise<Claim> {
    const { key, lease } = claim.item;
    return decideAndSwap(
      key,
      ({ item, nowMs }): Step<Claim> => {
        if (!isHolder(item, lease)) {
          throw new LeaseLostError(`${formatItemKey(key)} is not held under token ${claim.token} any more`);
        }
        const held = next(item, nowMs);
        return { kind: 'write', item: held, stored: (written) => claimOf(held, written) };
      },
      this.#swap,
      signal,
      this.#known(claim),
    );
  }

  /**
   * The item as its holder last stored it. Nobody else changes it but to leave news, and then the swap loses and it is
   * read again.
   */
  #known({ item, revision, storeAheadMs }: Claim): Reading {
    const sentAt = this.#swap.clock.monotonic();
    return { item, revision, nowMs: sentAt + storeAheadMs, sentAt, from: 'memory' };
  }
}

function claimOf(item: LeasedItem, written: Written): Claim {
  const { lease } = item;
  return {
    item,
    revision: written.revision,
    token: lease.token,
    validUntil: validity(lease, written),
    storeAheadMs: aheadOf(written),
  };
}

/**
 * The store wrote at its `nowMs`, no earlier than our `sentAt`. So what is left of the lease there, counted from
 * `sentAt`, ends here first, whatever the call took, and however wrong the renewal time is that we wrote.
 */
function validity({ renewTime, leaseDurationMs }: Lease, { nowMs, sentAt }: Written): number {
  return sentAt + (renewTime + leaseDurationMs * (1 - MARGIN) - nowMs);
}

function aheadOf({ nowMs, sentAt }: Written): number {
  return nowMs - sentAt;
}
