import type { ClusterSession } from '../ports/cluster.ts';
import type { Ending, RunReport } from '../queue/complete.ts';
import type { Controller, Plan } from './controller.ts';
import { type ConvergeContext, converge } from './converge.ts';
import { conditionsOf, errorOf, retryOf } from './failure.ts';
import type { Journal } from './journal.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { type Observation, observe } from './observe.ts';
import type { Result } from './result.ts';
import type { Runtime } from './runtime.ts';
import { inventoryOf, seenOf } from './seen.ts';
import { writeStatus } from './status.ts';
import { throttling } from './throttling.ts';

export interface PassOptions {
  readonly controller: Controller;
  readonly cluster: ClusterSession;
  readonly lease: LeaseKeeper;
  readonly trigger: string;
  readonly runtime: Runtime;
}

/**
 * One look at the object: observe → plan → diff → apply → status. May be run again after it failed; what it learnt on the
 * way goes into the report.
 */
export class Pass {
  readonly #options: PassOptions;
  readonly #journal: Journal;
  readonly #signal: AbortSignal;
  #latest: Observation | undefined;
  #plan: Plan | undefined;
  #planned: Observation | undefined;

  constructor(options: PassOptions, journal: Journal, signal: AbortSignal) {
    this.#options = options;
    this.#journal = journal;
    this.#signal = signal;
  }

  /** @throws whatever kept it from its end; the claim is still held */
  async run(): Promise<Ending> {
    const { controller, cluster, lease } = this.#options;
    const { item } = lease.claim;
    this.#signal.throwIfAborted();
    const start = await this.#journal.stage('observe', () =>
      observe(cluster, controller, item.key, item.children, this.#signal),
    );
    this.#latest = start;
    if (start === undefined) return { kind: 'gone' };
    // On its way out without a finalizer of ours: its children follow by their owner references.
    if (start.object.metadata.deletionTimestamp !== undefined) {
      this.#planned = start;
      return { kind: 'settled' };
    }
    const context = this.#context();
    const { observation, plan } = await converge(context, start);
    this.#latest = observation;
    this.#plan = plan;
    const { conditions, calmAfterMs } = throttling(item.bucket);
    const claim = { ...plan, conditions: [...plan.conditions, ...conditions] };
    const object = await this.#journal.stage('status', () =>
      writeStatus(context, observation.object, claim, context.now),
    );
    this.#latest = this.#planned = { ...observation, object };
    return settled(plan.result, calmAfterMs);
  }

  /**
   * Tells the object what went wrong, as far as a person can do something about it.
   *
   * @returns false when the object could not be told
   */
  async tell(thrown: unknown): Promise<boolean> {
    const { lease, runtime } = this.#options;
    // What is stopped for good does not run too often any more, and nothing would take that back.
    const throttled = retryOf(thrown).kind === 'never' ? [] : throttling(lease.claim.item.bucket).conditions;
    const conditions = [...conditionsOf(thrown), ...throttled];
    if (this.#latest === undefined || lease.signal.aborted) return true;
    const context = { ...this.#context(), signal: lease.signal };
    try {
      const object = await writeStatus(context, this.#latest.object, { status: {}, conditions }, context.now);
      this.#latest = { ...this.#latest, object };
      return true;
    } catch (error) {
      runtime.log.warn('the failure could not be written to the status', { error: errorOf(error) });
      return false;
    }
  }

  /** What the work queue is told. */
  report(ending: Ending, durationMs: number): RunReport {
    const { lease, trigger, runtime } = this.#options;
    const { item } = lease.claim;
    // Only what a plan has taken into account counts as seen; a failed run has promised nothing.
    const seen = this.#planned === undefined ? item.seen : seenOf(this.#planned, item.children, item.seen);
    return {
      uid: this.#latest?.object.metadata.uid ?? item.uid,
      generation: this.#latest?.object.metadata.generation ?? null,
      seen,
      // A run that broke off may have made children that it did not observe: what it intended stays recorded.
      children: this.#planned === undefined ? item.children : inventoryOf(this.#planned),
      ending,
      summary: {
        at: runtime.clock.now(),
        durationMs,
        trigger,
        writes: this.#journal.writes.map(({ verb, object, error }) =>
          error === undefined ? `${verb} ${object}` : `${verb} ${object} (${error})`,
        ),
        outcome: ending.kind === 'failed' ? ending.error.code : ending.kind,
      },
    };
  }

  /** What the log is told. */
  record(): Readonly<Record<string, unknown>> {
    const meta = this.#latest?.object.metadata;
    return {
      uid: meta?.uid,
      generation: meta?.generation,
      writes: this.#journal.writes,
      stages: this.#journal.stages,
      conditions: this.#plan?.conditions.map(({ type, status, message }) => `${type}=${status}: ${message}`),
      result: this.#plan?.result,
    };
  }

  #context(): ConvergeContext {
    const { controller, cluster, lease, runtime } = this.#options;
    return {
      cluster,
      controller,
      fieldManager: `driftless/${controller.name}`,
      journal: this.#journal,
      signal: this.#signal,
      now: runtime.clock.now(),
      intend: (children) => lease.intend(children),
    };
  }
}

/** When to look again: after the delay that the plan asked for, or when the object is calm, whichever comes first. */
function settled(result: Result, calmAfterMs: number | undefined): Ending {
  const delays = [result.kind === 'requeueAfter' ? result.delayMs : undefined, calmAfterMs];
  const wanted = delays.filter((delay) => delay !== undefined);
  return wanted.length === 0 ? { kind: 'settled' } : { kind: 'settled', requeueAfterMs: Math.min(...wanted) };
}
