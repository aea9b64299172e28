import { CircuitState, ConsecutiveBreaker, circuitBreaker, handleWhen } from 'cockatiel';
import { LeaseLostError, OperatorError, TransientError } from '../../errors.ts';
import { ApiError } from '../../kube/api-error.ts';

export interface BreakerOptions {
  /** Failures in a row that open the breaker. A refusal (404, 409, 422 …) is an answer: it ends the row. */
  readonly failures: number;
  /** How long it stays open before one call may try again. Milliseconds, by the machine's wall clock. */
  readonly halfOpenAfterMs: number;
}

export type BreakerState = 'closed' | 'open' | 'half-open';

/** Runs an attempt, or refuses to. */
type Breaker = <T>(attempt: () => Promise<T>) => Promise<T>;

export function createBreaker(
  options: BreakerOptions | undefined,
  onStateChange?: (state: BreakerState) => void,
): Breaker {
  if (options === undefined) return (attempt) => attempt();
  const policy = circuitBreaker(
    // A probe that ended in anything but an answer has proved nothing, so the breaker must not close on it.
    handleWhen((error) => isOutage(error) || policy.state === CircuitState.HalfOpen),
    { breaker: new ConsecutiveBreaker(options.failures), halfOpenAfter: options.halfOpenAfterMs },
  );
  policy.onStateChange((state) => onStateChange?.(STATES[state]));

  return async (attempt) => {
    const outcome = await policy.execute(() => attempt().then(toValue, toAnswer));
    if ('refusal' in outcome) throw outcome.refusal;
    return outcome.value;
  };
}

const STATES: Readonly<Record<CircuitState, BreakerState>> = {
  [CircuitState.Closed]: 'closed',
  [CircuitState.Open]: 'open',
  [CircuitState.HalfOpen]: 'half-open',
  [CircuitState.Isolated]: 'open',
};

function toValue<T>(value: T): { readonly value: T } {
  return { value };
}

/**
 * For cockatiel only a returned value is a success; a refusal is one too, because somebody is there and answers. What was
 * not sent, because its lease was over, says nothing.
 */
function toAnswer(error: unknown): { readonly refusal: OperatorError } {
  if (error instanceof OperatorError && !(error instanceof LeaseLostError) && !isOutage(error))
    return { refusal: error };
  throw error;
}

/** The other side does not work. A 500 that no retry can help blames the request (a field the schema lacks). */
function isOutage(error: unknown): boolean {
  if (error instanceof TransientError) return true;
  return error instanceof ApiError && error.status.code >= 500 && error.retry.kind !== 'never';
}
