import { TransientError } from '../errors.ts';
import type { Clock } from '../ports/clock.ts';

export interface Deadline {
  /** Aborts at the deadline with a `TransientError` (code `RUN_TIMEOUT`), or with the outer signal's reason. */
  readonly signal: AbortSignal;
  /** Releases the timer. */
  dispose(): void;
}

/** Bounds a run: after `timeoutMs`, whatever still waits is aborted. */
export function withDeadline(clock: Clock, timeoutMs: number, outer: AbortSignal): Deadline {
  const expired = new AbortController();
  const disposed = new AbortController();
  clock.sleep(timeoutMs, disposed.signal).then(
    () => expired.abort(new TransientError('RUN_TIMEOUT', `the run took longer than ${timeoutMs} ms`)),
    () => undefined, // Disposed: the run ended in time.
  );
  return { signal: AbortSignal.any([outer, expired.signal]), dispose: () => disposed.abort() };
}
