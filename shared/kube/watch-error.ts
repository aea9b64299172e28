import { OperatorError, type OperatorErrorOptions } from '../errors.ts';

/**
 * The resourceVersion of a watch, or the token of a list, is too old for the server: list anew.
 *
 * Routine, not a failure: every restart of an API server causes it for every kind.
 */
export class WatchExpiredError extends OperatorError {
  constructor(message: string, options?: OperatorErrorOptions) {
    super('WATCH_EXPIRED', message, { kind: 'backoff' }, options);
  }
}
