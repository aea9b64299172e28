/** Time, so that no rule and no pipeline reads an ambient clock. */
export interface Clock {
  /** Epoch milliseconds: for texts and deadlines that leave the process. Never decides about a lease. */
  now(): number;
  /** Milliseconds since an arbitrary start, never going back: for intervals. */
  monotonic(): number;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}
