import { LeaseLostError, messageOf } from '../errors.ts';
import { formatRef, type ObjectRef } from '../kube/key.ts';
import type { Clock } from '../ports/clock.ts';
import type { Claim, WorkQueue } from '../queue/work-queue.ts';

/**
 * Holds one claim while a run works: renews it before it gets old, and aborts the run when it is lost.
 *
 * A run that ends within a third of the lease never pays for a renewal. Changes of the claim take turns, because each
 * compares with the revision that the one before it left.
 */
export class LeaseKeeper {
  readonly #queue: WorkQueue;
  readonly #clock: Clock;
  readonly #lost = new AbortController();
  readonly #done = new AbortController();
  readonly #signal: AbortSignal;
  #claim: Claim;
  #turn: Promise<unknown> = Promise.resolve();
  readonly #renewing: Promise<void>;

  constructor(queue: WorkQueue, clock: Clock, claim: Claim, signal: AbortSignal) {
    this.#queue = queue;
    this.#clock = clock;
    this.#claim = claim;
    this.#signal = AbortSignal.any([signal, this.#lost.signal]);
    this.#renewing = this.#renew();
  }

  get claim(): Claim {
    return this.#claim;
  }

  /** Aborts when the lease is lost, with a `LeaseLostError` as reason, or with the signal given at the start. */
  get signal(): AbortSignal {
    return this.#signal;
  }

  /** @throws {LeaseLostError} when the lease may have passed to somebody else by the time a write arrives */
  assertLeased(): void {
    this.#signal.throwIfAborted();
    if (this.#clock.monotonic() < this.#claim.validUntil) return;
    throw new LeaseLostError('the lease ran out before it could be renewed');
  }

  /** Stores which children are about to be made; costs nothing when the item knows them. */
  async intend(children: readonly ObjectRef[]): Promise<void> {
    const known = new Set(this.#claim.item.children.map(formatRef));
    const unknown = children.filter((child) => !known.has(formatRef(child)));
    if (unknown.length === 0) return;
    const records = unknown.map((child) => ({ ...child, uid: null }));
    await this.#change((claim) => this.#queue.intend(claim, records, this.#signal));
  }

  /** Ends the renewals; the claim is then the newest. */
  async stop(): Promise<Claim> {
    this.#done.abort();
    await this.#renewing;
    await this.#turn;
    return this.#claim;
  }

  async #renew(): Promise<void> {
    const { signal } = this.#done;
    while (!signal.aborted) {
      const left = this.#claim.validUntil - this.#clock.monotonic();
      try {
        await this.#clock.sleep(Math.max(0, left - (this.#queue.leaseDurationMs * 2) / 3), signal);
      } catch {
        return; // The run has ended.
      }
      try {
        await this.#change((claim) => this.#queue.renew(claim, this.#signal));
      } catch (error) {
        if (signal.aborted) return;
        this.#lost.abort(
          error instanceof LeaseLostError
            ? error
            : new LeaseLostError(`the lease could not be renewed: ${messageOf(error)}`, { cause: error }),
        );
        return;
      }
    }
  }

  async #change(change: (claim: Claim) => Promise<Claim>): Promise<void> {
    const turn = this.#turn.then(async () => {
      this.#claim = await change(this.#claim);
    });
    this.#turn = turn.catch(() => undefined); // Whoever asked for the change gets its error; the next one has its turn.
    await turn;
  }
}
