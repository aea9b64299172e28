import type { ConditionClaim } from '../kube/conditions.ts';
import { BURST, refillMs, tokensIn } from '../queue/bucket.ts';
import type { Bucket } from '../queue/work-item.ts';

/** Below so many runs left, a person should look at what makes the object run. */
const FEW = 10;

const TOO_MANY_RUNS: ConditionClaim = {
  type: 'Throttled',
  status: 'True',
  reason: 'TooManyRuns',
  // Always the same, or the status would change with each run.
  message:
    `It ran ${BURST} times in short order, because it or its children keep changing. ` +
    'It now runs at most once per second, and each run carries out the latest state.',
};

/** What a run says about the bucket that it was taken from. */
export interface Throttling {
  readonly conditions: readonly ConditionClaim[];
  /** A run after this takes the conditions back, if none comes before; undefined when there are none. */
  readonly calmAfterMs: number | undefined;
}

/**
 * Tells the object that its runs come to an end, on a run that happens anyway; and asks for a look once it is calm,
 * because a calm object has no other reason to run.
 *
 * @param bucket as the claim left it
 */
export function throttling(bucket: Bucket | null): Throttling {
  if (bucket === null || tokensIn(bucket, bucket.updatedAt) >= FEW) return { conditions: [], calmAfterMs: undefined };
  // That look takes one, too.
  return { conditions: [TOO_MANY_RUNS], calmAfterMs: refillMs(bucket, FEW + 1, bucket.updatedAt) };
}
