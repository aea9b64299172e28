import type { Retry } from '../errors.ts';

const FIRST_DELAY_MS = 10;
const LONGEST_DELAY_MS = 5 * 60_000;

/**
 * How long to wait after the `failures`-th failure in a row: 10 ms, doubling up to 5 min, of which the upper half is
 * chance, so that objects that failed together do not come back together.
 *
 * @param failures at least 1
 * @param fraction uniform in [0, 1)
 */
export function backoffMs(failures: number, fraction: number): number {
  const longest = Math.min(FIRST_DELAY_MS * 2 ** (failures - 1), LONGEST_DELAY_MS);
  return longest / 2 + (longest / 2) * fraction;
}

/**
 * The delay before a failed run is tried again. A server that named one wins over backoff, also over its cap.
 *
 * @param minDelayMs of a backoff, up to the same 5 min
 */
export function retryDelayMs(
  retry: Exclude<Retry, { kind: 'never' }>,
  failures: number,
  fraction: number,
  minDelayMs: number,
): number {
  switch (retry.kind) {
    case 'after':
      return retry.delayMs;
    case 'backoff':
      return Math.max(backoffMs(failures, fraction), Math.min(minDelayMs, LONGEST_DELAY_MS));
  }
}
