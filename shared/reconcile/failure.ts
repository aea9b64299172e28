import { messageOf, OperatorError, type Retry } from '../errors.ts';
import { ApiError, FieldConflictError } from '../kube/api-error.ts';
import type { ConditionClaim } from '../kube/conditions.ts';
import type { RunError } from '../queue/work-item.ts';

/** What is stored about a failed run. */
export function errorOf(thrown: unknown): RunError {
  return { code: thrown instanceof OperatorError ? thrown.code : 'UNEXPECTED', message: messageOf(thrown) };
}

/** When to run again. An exception that nobody foresaw is retried: the next build may cope. */
export function retryOf(thrown: unknown): Retry {
  return thrown instanceof OperatorError ? thrown.retry : { kind: 'backoff' };
}

/**
 * What the object should say about a failed run; empty when there is nothing that a person could do.
 *
 * `Stalled`: no retry until the spec changes. `Contended`: another manager owns a field. `Reconciling`: it is retried.
 */
export function conditionsOf(thrown: unknown): readonly ConditionClaim[] {
  const message = messageOf(thrown);
  const retry = retryOf(thrown);
  if (thrown instanceof FieldConflictError) {
    return [claim('Contended', 'True', 'FieldConflict', message), claim('Ready', 'False', 'Contended', message)];
  }
  if (retry.kind === 'never') {
    return [claim('Stalled', 'True', reasonOf(thrown), message), claim('Ready', 'False', 'Stalled', message)];
  }
  return [claim('Reconciling', 'True', reasonOf(thrown), message)];
}

function claim(type: string, status: 'True' | 'False', reason: string, message: string): ConditionClaim {
  return { type, status, reason, message };
}

/** `CHILD_NOT_OWNED` → `ChildNotOwned`; for refusals the API server's own word (`Forbidden`, `Invalid`). */
function reasonOf(thrown: unknown): string {
  if (thrown instanceof ApiError && thrown.status.reason !== '') return thrown.status.reason;
  return errorOf(thrown)
    .code.toLowerCase()
    .replace(/(^|_)([a-z])/g, (_, __, letter: string) => letter.toUpperCase());
}
