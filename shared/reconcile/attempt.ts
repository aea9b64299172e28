import { ConflictError } from '../errors.ts';
import type { Cluster } from '../ports/cluster.ts';
import { backoffMs } from '../queue/backoff.ts';
import type { Ending, RunReport } from '../queue/complete.ts';
import type { Controller, Plan } from './controller.ts';
import { type ConvergeContext, converge } from './converge.ts';
import { withDeadline } from './deadline.ts';
import { conditionsOf, errorOf, retryOf } from './failure.ts';
import { Journal } from './journal.ts';
import type { LeaseKeeper } from './lease-keeper.ts';
import { type Observation, observe } from './observe.ts';
import type { Runtime } from './runtime.ts';
import { inventoryOf, seenOf } from './seen.ts';
import { writeStatus } from './status.ts';

export interface AttemptOptions {
  readonly controller: Controller;
  readonly cluster: Cluster;
  readonly lease: LeaseKeeper;
  readonly trigger: string;
  readonly runtime: Runtime;
}

export interface Attempted {
  readonly report: RunReport;
  /** For the log: what the run saw, wrote and concluded. */
  readonly record: Readonly<Record<string, unknown>>;
  /** What went wrong, if anything did. */
  readonly error: unknown;
}

/** Failures whose backoff is shorter than this are retried inside the run; longer ones become an alarm. */
const LONGEST_PAUSE_MS = 500;
/** Looks at a world that keeps moving before it counts as a failure. */
const MAX_CONFLICTS = 5;

/**
 * observe → plan → diff → apply → status for a held claim. Never throws: what went wrong is part of the report.
 *
 * A conflict means that the world moved: look again at once. A failure with a short backoff is retried here, without
 * giving the lease up.
 */
export async function attempt(options: AttemptOptions): Promise<Attempted> {
  const { controller, lease, runtime } = options;
  const { clock, random } = runtime;
  const { item } = lease.claim;
  const started = clock.monotonic();
  const journal = new Journal(clock);
  const deadline = withDeadline(clock, controller.timeoutMs, lease.signal);
  const pass = new Pass(options, journal, deadline.signal);
  let conflicts = 0;
  let failures = 0;
  let ending: Ending | undefined;
  let thrown: unknown;
  try {
    while (ending === undefined) {
      try {
        ending = await pass.run();
        thrown = undefined;
      } catch (error) {
        thrown = deadline.signal.aborted ? deadline.signal.reason : error;
        if (thrown instanceof ConflictError && ++conflicts <= MAX_CONFLICTS) continue;
        failures += 1;
        const pauseMs = pauseFor(thrown, item.failures + failures, random.fraction());
        if (deadline.signal.aborted || pauseMs > LONGEST_PAUSE_MS) {
          ending = { kind: 'failed', error: errorOf(thrown), retry: retryOf(thrown), attempts: failures };
        } else {
          await clock.sleep(pauseMs, deadline.signal).catch(() => undefined); // The next round sees the abort.
        }
      }
    }
  } finally {
    deadline.dispose();
  }
  if (ending.kind === 'failed') await pass.tell(thrown);
  const durationMs = Math.round((clock.monotonic() - started) * 10) / 10;
  return {
    report: pass.report(ending, durationMs),
    record: {
      ...pass.record(),
      outcome: ending.kind,
      ...(thrown === undefined ? {} : { error: errorOf(thrown) }),
      durationMs,
    },
    error: thrown,
  };
}

function pauseFor(thrown: unknown, failures: number, fraction: number): number {
  const retry = retryOf(thrown);
  switch (retry.kind) {
    case 'never':
      return Number.POSITIVE_INFINITY;
    case 'after':
      return retry.delayMs;
    case 'backoff':
      return backoffMs(failures, fraction);
  }
}

/** One look at the object, and what is known about it since. */
class Pass {
  readonly #options: AttemptOptions;
  readonly #journal: Journal;
  readonly #signal: AbortSignal;
  #latest: Observation | undefined;
  #plan: Plan | undefined;
  #planned: Observation | undefined;

  constructor(options: AttemptOptions, journal: Journal, signal: AbortSignal) {
    this.#options = options;
    this.#journal = journal;
    this.#signal = signal;
  }

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
    const object = await this.#journal.stage('status', () =>
      writeStatus(context, observation.object, plan, context.now),
    );
    this.#latest = this.#planned = { ...observation, object };
    return plan.result.kind === 'requeueAfter'
      ? { kind: 'settled', requeueAfterMs: plan.result.delayMs }
      : { kind: 'settled' };
  }

  /** Tells the object what went wrong, as far as a person can do something about it. */
  async tell(thrown: unknown): Promise<void> {
    const conditions = conditionsOf(thrown);
    const { lease, runtime } = this.#options;
    if (this.#latest === undefined || lease.signal.aborted) return;
    const context = { ...this.#context(), signal: lease.signal };
    try {
      const object = await writeStatus(context, this.#latest.object, { status: {}, conditions }, context.now);
      this.#latest = { ...this.#latest, object };
    } catch (error) {
      runtime.log.warn('the failure could not be written to the status', { error: errorOf(error) });
    }
  }

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
      assertLeased: () => lease.assertLeased(),
      signal: this.#signal,
      now: runtime.clock.now(),
      intend: (children) => lease.intend(children),
    };
  }
}
