import { ConflictError, LeaseLostError } from '../errors.ts';
import { backoffMs } from '../queue/backoff.ts';
import type { Ending, RunReport } from '../queue/complete.ts';
import { withDeadline } from './deadline.ts';
import { errorOf, retryOf } from './failure.ts';
import { Journal } from './journal.ts';
import { Pass, type PassOptions } from './pass.ts';

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
export async function attempt(options: PassOptions): Promise<Attempted> {
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
        // Whoever was kept out, or overslept, does no good by trying again: if the lease is still its own, its alarm rings.
        const pauseMs = pauseFor(thrown, item.failures + failures, random.fraction());
        if (deadline.signal.aborted || thrown instanceof LeaseLostError || pauseMs > LONGEST_PAUSE_MS) {
          ending = { kind: 'failed', error: errorOf(thrown), retry: retryOf(thrown), attempts: failures };
        } else {
          await clock.sleep(pauseMs, deadline.signal).catch(() => undefined); // The next round sees the abort.
        }
      }
    }
  } finally {
    deadline.dispose();
  }
  // Whoever lost the lease has nothing to tell.
  const isOurs = !(thrown instanceof LeaseLostError);
  if (isOurs && ending.kind === 'failed' && !(await pass.tell(thrown)) && ending.retry.kind === 'never') {
    // Quarantine is for good, so nobody would ever tell the object why: run again, to tell it then.
    ending = { ...ending, retry: { kind: 'backoff' } };
  }
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
