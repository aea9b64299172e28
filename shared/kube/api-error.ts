import { ConflictError, OperatorError, type Retry } from '../errors.ts';

/** One entry of `details.causes` in a `metav1.Status`. */
export interface StatusCause {
  readonly reason: string;
  readonly message: string;
  readonly field: string;
}

/** What a refused request says about itself: a `metav1.Status` with the parts that decisions need. */
export interface ApiStatus {
  readonly code: number;
  /** `NotFound`, `Invalid`, …; empty when the server gave none (a plain-text 404, a typed-patch 500). */
  readonly reason: string;
  readonly message: string;
  readonly causes: readonly StatusCause[];
  /** From `Retry-After`, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** A request that the API server refused. */
export class ApiError extends OperatorError {
  readonly status: ApiStatus;
  /** What was asked, e.g. `apply Deployment.apps default/web`. */
  readonly request: string;

  constructor(request: string, status: ApiStatus) {
    super(
      'API_REFUSED',
      `cannot ${request}: ${status.code} ${status.reason} ${status.message}`.replaceAll('  ', ' '),
      retryOf(status),
    );
    this.status = status;
    this.request = request;
  }
}

/** A field that another manager owns, so an apply without force was refused. */
export interface FieldConflict {
  /** e.g. `kubectl-edit`. */
  readonly manager: string;
  /** e.g. `.spec.replicas`. */
  readonly field: string;
}

/** Server-side apply would take fields away from other managers. */
export class FieldConflictError extends OperatorError {
  readonly conflicts: readonly FieldConflict[];

  constructor(request: string, conflicts: readonly FieldConflict[]) {
    const list = conflicts.map((c) => `${c.field} belongs to ${c.manager}`).join(', ');
    super('FIELD_CONFLICT', `cannot ${request}: ${list}`, { kind: 'backoff' });
    this.conflicts = conflicts;
  }
}

/**
 * Our error for a refusal of the API server.
 *
 * An optimistic-lock 409 has no causes, a field conflict names its managers there; a 422 without causes is a lost
 * race (a failed JSON Patch `test`), and so is one about `metadata.uid` (an apply that met a recreated object), whatever
 * else is wrong with it; with other causes it is an invalid object. A 500 without a reason comes from an apply with an unknown field: no retry can
 * help.
 */
export function apiErrorOf(request: string, status: ApiStatus): OperatorError {
  if (status.code === 409) {
    const conflicts = status.causes.filter((c) => c.reason === 'FieldManagerConflict').map(toFieldConflict);
    return conflicts.length > 0
      ? new FieldConflictError(request, conflicts)
      : new ConflictError(`cannot ${request}: ${status.message}`, { cause: new ApiError(request, status) });
  }
  if (status.code === 422 && isAboutAnother(status)) {
    return new ConflictError(`cannot ${request}: ${status.message}`, { cause: new ApiError(request, status) });
  }
  return new ApiError(request, status);
}

/** The refusal means that the object, or its kind, is not there. */
export function isNotFound(thrown: unknown): boolean {
  return thrown instanceof ApiError && thrown.status.code === 404;
}

function isAboutAnother({ causes }: ApiStatus): boolean {
  return causes.length === 0 || causes.some((c) => c.field === 'metadata.uid');
}

function toFieldConflict(cause: StatusCause): FieldConflict {
  // The manager's name stands only in the message: conflict with "kubectl-edit" using v1
  return { manager: /conflict with "([^"]*)"/.exec(cause.message)?.[1] ?? 'unknown', field: cause.field };
}

function retryOf({ code, reason, causes, retryAfterMs }: ApiStatus): Retry {
  if (retryAfterMs !== undefined) return { kind: 'after', delayMs: retryAfterMs };
  if (causes.some((c) => c.reason === 'NamespaceTerminating')) return { kind: 'backoff' };
  if (code === 400 || code === 405 || code === 413 || code === 415 || code === 422) return { kind: 'never' };
  if (code === 500 && reason === '') return { kind: 'never' };
  return { kind: 'backoff' };
}
