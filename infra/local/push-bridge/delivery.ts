/** What a push subscription does with a message that was not accepted; named after Pub/Sub's settings. */
export interface DeliveryPolicy {
  /** The pause after the first refusal; it doubles with each further one. */
  readonly minimumBackoffMs: number;
  readonly maximumBackoffMs: number;
  /** After this many deliveries the message goes to the dead letter. Absent: it is delivered for ever. */
  readonly maxDeliveryAttempts?: number;
}

/** What became of one delivery: the HTTP status, or the code of the failure when no answer came. */
export type PushResult =
  | { readonly kind: 'answered'; readonly status: number }
  | { readonly kind: 'failed'; readonly code: string };

export type NextStep =
  | { readonly kind: 'ack' }
  | { readonly kind: 'retry'; readonly delayMs: number }
  | { readonly kind: 'dead-letter' };

/**
 * What follows on the `attempt`th delivery (counted from 1).
 *
 * @see https://cloud.google.com/pubsub/docs/handling-failures
 */
export function nextStep(policy: DeliveryPolicy, attempt: number, result: PushResult): NextStep {
  if (isAccepted(result)) return { kind: 'ack' };
  if (policy.maxDeliveryAttempts !== undefined && attempt >= policy.maxDeliveryAttempts) return { kind: 'dead-letter' };
  return { kind: 'retry', delayMs: backoffMs(policy, attempt) };
}

/** The pause after `failures` refusals in a row. */
function backoffMs({ minimumBackoffMs, maximumBackoffMs }: DeliveryPolicy, failures: number): number {
  return Math.min(maximumBackoffMs, minimumBackoffMs * 2 ** (failures - 1));
}

/** https://cloud.google.com/pubsub/docs/push#receive_push: any other status is a refusal, other 2xx included. */
function isAccepted(result: PushResult): boolean {
  return result.kind === 'answered' && [102, 200, 201, 202, 204].includes(result.status);
}
