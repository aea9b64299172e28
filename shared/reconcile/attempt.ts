import { ConflictError, LeaseLostError } from '../errors.ts';
import { retryDelayMs } from '../queue/backoff.ts';
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

interface Ended {
  readonly ending: Ending;
  /** What it failed with; undefined when it did not. */
  readonly thrown: unknown;
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
  const { clock } = runtime;
  const started = clock.monotonic();
  const journal = new Journal(clock);
  const deadline = withDeadline(clock, controller.timeoutMs, lease.signal);
  const pass = new Pass(options, journal, deadline.signal);
  let { ending, thrown } = await untilEnded(pass, options, deadline.signal).finally(() => deadline.dispose());
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

/** Looks again and again, until the object is settled or only an alarm helps. */
async function untilEnded(pass: Pass, { lease, runtime }: PassOptions, signal: AbortSignal): Promise<Ended> {
  const { clock, random, retries } = runtime;
  let conflicts = 0;
  let failures = 0;
  for (;;) {
    try {
      return { ending: await pass.run(), thrown: undefined };
    } catch (error) {
      const thrown = signal.aborted ? signal.reason : error;
      if (thrown instanceof ConflictError && ++conflicts <= MAX_CONFLICTS) continue;
      failures += 1;
      const retry = retryOf(thrown);
      const minDelayMs = retry.kind === 'backoff' ? retries.reserve(clock.monotonic()) : 0;
      const pauseMs =
        retry.kind === 'never'
          ? Number.POSITIVE_INFINITY
          : retryDelayMs(retry, lease.claim.item.failures + failures, random.fraction(), minDelayMs);
      // Whoever was kept out, or overslept, does no good by trying again: if the lease is still its own, its alarm rings.
      if (signal.aborted || thrown instanceof LeaseLostError || pauseMs > LONGEST_PAUSE_MS) {
        return { ending: { kind: 'failed', error: errorOf(thrown), retry, attempts: failures, minDelayMs }, thrown };
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined); // The next round sees the abort.
    }
  }
}
