import { DelegateBackoff, handleWhen, type IPolicy, type IRetryBackoffContext, noop, retry } from 'cockatiel';
import { OperatorError, TransientError } from '../../errors.ts';

export interface RetryOptions {
  /** Attempts after the first one. */
  readonly maxAttempts: number;
  /** Doubles with each attempt, with jitter. @default 10 */
  readonly initialDelayMs?: number;
  /** Longer pauses are never made inside a call: when the server asks for one, the error goes to the caller at once. */
  readonly maxDelayMs: number;
}

/** Retries for short pauses; long ones are the work queue's matter, because nothing sleeps in a paid function. */
export function createRetry(
  options: RetryOptions | undefined,
  shouldRetry: (error: unknown) => boolean = isCurable,
): IPolicy {
  if (options === undefined) return noop;
  const { maxAttempts, initialDelayMs = 10, maxDelayMs } = options;
  const policy = retry(
    handleWhen((error) => shouldRetry(error) && (delayAskedBy(error) ?? 0) <= maxDelayMs),
    {
      maxAttempts,
      backoff: new DelegateBackoff(({ attempt, result }: IRetryBackoffContext<unknown>) => {
        const asked = 'error' in result ? delayAskedBy(result.error) : undefined;
        const delay = Math.min(maxDelayMs, initialDelayMs * 2 ** (attempt - 1));
        return asked ?? delay * (0.5 + Math.random() / 2);
      }),
    },
  );
  // A pause goes on after its call was given up, and must not keep the process from ending.
  return policy.dangerouslyUnref();
}

function isCurable(error: unknown): boolean {
  return error instanceof TransientError || delayAskedBy(error) !== undefined;
}

function delayAskedBy(error: unknown): number | undefined {
  return error instanceof OperatorError && error.retry.kind === 'after' ? error.retry.delayMs : undefined;
}
