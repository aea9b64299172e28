/** What the runtime should do about a failed run. A server that named a delay always wins over backoff. */
export type Retry =
  | { readonly kind: 'never' }
  | { readonly kind: 'backoff' }
  | { readonly kind: 'after'; readonly delayMs: number };

const NEVER: Retry = { kind: 'never' };
const BACKOFF: Retry = { kind: 'backoff' };

export interface OperatorErrorOptions {
  /** The error that was translated; kept so that no detail is lost on the way to the log. */
  readonly cause?: unknown;
}

/**
 * An error that says what the runtime should do about it.
 *
 * Branch on `code`, `retry` or the guards below, never on `message`: the message is for people and may change.
 */
export abstract class OperatorError extends Error {
  /** Stable, upper-case, unique to the kind of failure. */
  readonly code: string;
  readonly retry: Retry;

  protected constructor(code: string, message: string, retry: Retry, options: OperatorErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = code;
    this.retry = retry;
  }
}

/** Running again cannot help until the object's generation moves: an invalid spec, an immutable field. */
export class TerminalError extends OperatorError {
  constructor(code: string, message: string, options?: OperatorErrorOptions) {
    super(code, message, NEVER, options);
  }
}

/** Running again may help: a timeout, an open breaker, a store that is away. */
export class TransientError extends OperatorError {
  constructor(code: string, message: string, options: OperatorErrorOptions & { readonly retryAfterMs?: number } = {}) {
    super(
      code,
      message,
      options.retryAfterMs === undefined ? BACKOFF : { kind: 'after', delayMs: options.retryAfterMs },
      options,
    );
  }
}

/**
 * The world moved between our read and our write (an optimistic lock refused it).
 *
 * Not a failure: the run looks again at once, and only a run that keeps losing backs off.
 */
export class ConflictError extends OperatorError {
  constructor(message: string, options?: OperatorErrorOptions) {
    super('CONFLICT', message, BACKOFF, options);
  }
}

/** We overslept our lease, or could not renew it: whoever holds it now does the work. Stop writing. */
export class LeaseLostError extends OperatorError {
  constructor(message: string, options?: OperatorErrorOptions) {
    super('LEASE_LOST', message, BACKOFF, options);
  }
}

/** A message that no version of this code can decode. It belongs in the dead letter. */
export class InvalidMessageError extends OperatorError {
  constructor(message: string, options?: OperatorErrorOptions) {
    super('INVALID_MESSAGE', message, NEVER, options);
  }
}

/** The settings of a process are wrong; `problems` lists every one of them, so that one restart is enough. */
export class ConfigError extends OperatorError {
  readonly problems: readonly string[];

  constructor(what: string, problems: readonly string[]) {
    super('INVALID_CONFIG', `${what} is invalid:\n${problems.map((p) => `  - ${p}`).join('\n')}`, NEVER);
    this.problems = problems;
  }
}

/** The message of anything that was thrown, for a log line or a condition. */
export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
