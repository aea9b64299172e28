import type { Bucket } from './work-item.ts';

/** So many runs at once … */
export const BURST = 100;
/** … and then one each second. */
const REFILL_MS = 1_000;

export type Taking =
  | { readonly kind: 'taken'; readonly bucket: Bucket }
  /** @prop tokenAt when there is one again, in the store's time */
  | { readonly kind: 'empty'; readonly tokenAt: number };

/**
 * Takes one run out of the bucket: the loop breaker of an object. Whatever makes it run again and again (two controllers
 * that disagree, a plan that never likes what it made, a person with a script), it runs 100 times and then once per
 * second, and the others keep their share of the instances.
 *
 * A bucket is never written just because it fills: a full one is null or old.
 *
 * @param nowMs the store's time
 */
export function take(bucket: Bucket | null, nowMs: number): Taking {
  const at = tokenAt(bucket);
  // The same comparison that an alarm makes, so that a fraction of a token never lets one ring in vain.
  if (nowMs < at) return { kind: 'empty', tokenAt: at };
  const updatedAt = Math.max(nowMs, bucket?.updatedAt ?? nowMs);
  return { kind: 'taken', bucket: { tokens: Math.max(0, tokensIn(bucket, updatedAt) - 1), updatedAt } };
}

/** How many runs are left, with a fraction of the next one. */
export function tokensIn(bucket: Bucket | null, nowMs: number): number {
  if (bucket === null) return BURST;
  return Math.min(BURST, bucket.tokens + Math.max(0, nowMs - bucket.updatedAt) / REFILL_MS);
}

/** How long until there are so many, if none is taken: 0 when there are. */
export function refillMs(bucket: Bucket | null, tokens: number, nowMs: number): number {
  return Math.max(0, tokens - tokensIn(bucket, nowMs)) * REFILL_MS;
}

function tokenAt(bucket: Bucket | null): number {
  if (bucket === null || bucket.tokens >= 1) return 0;
  return bucket.updatedAt + (1 - bucket.tokens) * REFILL_MS;
}
