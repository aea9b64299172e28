/**
 * Bounds one call to something outside of this process: a deadline, retries of what is worth retrying, a breaker, a
 * bulkhead. What `call` throws comes out unchanged; the guard's own refusals are `TransientError`s with the codes
 * `TIMEOUT`, `CIRCUIT_OPEN` and `OVERLOADED`.
 *
 * `call` gets a signal that aborts at the deadline or with the caller's `signal`, and must honour it.
 */
export type Guard = <T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal) => Promise<T>;
