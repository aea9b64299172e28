import {
  bulkhead,
  type IPolicy,
  isBrokenCircuitError,
  isBulkheadRejectedError,
  noop,
  TimeoutStrategy,
  timeout,
} from 'cockatiel';
import { TransientError } from '../../errors.ts';
import type { Guard } from '../../ports/guard.ts';
import { type BreakerOptions, type BreakerState, createBreaker } from './breaker.ts';
import { createRetry, type RetryOptions } from './retry.ts';

export interface GuardOptions {
  /** What is guarded, for messages: `API server`. */
  readonly name: string;
  /** Deadline of a whole call: waiting for a slot, attempts, and the pauses between them. Milliseconds. */
  readonly timeoutMs: number;
  /** @default no retries */
  readonly retry?: RetryOptions;
  /** @default no breaker */
  readonly breaker?: BreakerOptions;
  /** @default any number of calls at once */
  readonly bulkhead?: BulkheadOptions;
  /** Which errors another attempt may cure. @default transient ones, and those for which the server named a delay */
  readonly shouldRetry?: (error: unknown) => boolean;
  /** For metrics and logs. */
  readonly onStateChange?: (state: BreakerState) => void;
}

export interface BulkheadOptions {
  readonly concurrency: number;
  /** Calls that may wait for a slot; one more is refused as `OVERLOADED`. */
  readonly queue: number;
}

/**
 * A guard made of cockatiel's policies: deadline ( bulkhead ( retry ( breaker ( call )))).
 *
 * A call that runs is stopped through its signal and awaited, so that nothing happens behind the caller's back. A
 * call that waits (for a slot, a pause, a half-open breaker) ends at once with the signal's reason or the deadline;
 * cockatiel alone would let it wait on.
 */
export function createGuard(options: GuardOptions): Guard {
  const deadline = timeout(options.timeoutMs, { strategy: TimeoutStrategy.Cooperative, abortOnReturn: false });
  const slots: IPolicy = options.bulkhead ? bulkhead(options.bulkhead.concurrency, options.bulkhead.queue) : noop;
  const retry = createRetry(options.retry, options.shouldRetry);
  const breaker = createBreaker(options.breaker, options.onStateChange);

  return async (call, caller) => {
    caller.throwIfAborted();
    return await deadline.execute(async ({ signal }) => {
      const run = new Run(options, caller, signal);
      const outcome = slots.execute(() => retry.execute(() => breaker(() => run.attempt(call)), signal), signal);
      try {
        return await Promise.race([outcome, run.stoppedWhileWaiting]);
      } catch (error) {
        throw caller.aborted ? caller.reason : translated(options.name, error);
      } finally {
        run.dispose();
      }
    }, caller);
  };
}

/** What one guarded call is doing: running, or waiting to run. */
class Run {
  /** Rejects when the signal aborts while no attempt runs; never resolves. */
  readonly stoppedWhileWaiting: Promise<never>;
  readonly dispose: () => void;
  readonly #options: GuardOptions;
  readonly #caller: AbortSignal;
  readonly #signal: AbortSignal;
  #running: boolean = false;
  #lastError: unknown;

  constructor(options: GuardOptions, caller: AbortSignal, signal: AbortSignal) {
    this.#options = options;
    this.#caller = caller;
    this.#signal = signal;
    const { promise, reject } = Promise.withResolvers<never>();
    const stop = () => {
      // The error of the last attempt says more than that the pause after it was cut short.
      if (!this.#running) reject(this.#lastError ?? this.#stopped());
    };
    signal.addEventListener('abort', stop, { once: true });
    this.stoppedWhileWaiting = promise;
    this.dispose = () => signal.removeEventListener('abort', stop);
  }

  async attempt<T>(call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#signal.aborted) throw this.#stopped();
    this.#running = true;
    try {
      return await call(this.#signal);
    } catch (error) {
      this.#lastError = this.#signal.aborted ? this.#stopped(error) : error;
      throw this.#lastError;
    } finally {
      this.#running = false;
    }
  }

  #stopped(cause?: unknown): Error {
    if (this.#caller.aborted) return new CallerGone();
    const { name, timeoutMs } = this.#options;
    return new TransientError('TIMEOUT', `${name} did not answer within ${timeoutMs} ms`, { cause });
  }
}

/** The caller aborted: says nothing about the other side, whatever the signal's reason is. */
class CallerGone extends Error {}

function translated(name: string, error: unknown): unknown {
  if (isBrokenCircuitError(error)) {
    return new TransientError('CIRCUIT_OPEN', `${name} failed too often: not asked again yet`, { cause: error });
  }
  if (isBulkheadRejectedError(error)) {
    return new TransientError('OVERLOADED', `too many calls wait for ${name}`, { cause: error });
  }
  return error;
}
