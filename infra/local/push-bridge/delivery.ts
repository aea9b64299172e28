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

/** How often a message was delivered so far, this time included. */
export interface Attempts {
  /** What the pause depends on. */
  readonly all: number;
  /** What the dead letter depends on. */
  readonly failed: number;
}

/**
 * What follows on a delivery.
 *
 * @see https://cloud.google.com/pubsub/docs/handling-failures
 */
export function nextStep(policy: DeliveryPolicy, { all, failed }: Attempts, result: PushResult): NextStep {
  if (isAccepted(result)) return { kind: 'ack' };
  if (policy.maxDeliveryAttempts !== undefined && failed >= policy.maxDeliveryAttempts) return { kind: 'dead-letter' };
  return { kind: 'retry', delayMs: backoffMs(policy, all) };
}

/**
 * Whether the function had no room, which says nothing about the message. Production counts it like any refusal; with
 * backoffs of up to ten minutes the dead letter is hours away there. Here it would be two minutes of full load away.
 */
export function isTurnedAway(result: PushResult): boolean {
  return result.kind === 'answered' && result.status === 429;
}

/** The pause after `failures` refusals in a row. */
function backoffMs({ minimumBackoffMs, maximumBackoffMs }: DeliveryPolicy, failures: number): number {
  return Math.min(maximumBackoffMs, minimumBackoffMs * 2 ** (failures - 1));
}

/** https://cloud.google.com/pubsub/docs/push#receive_push: any other status is a refusal, other 2xx included. */
function isAccepted(result: PushResult): boolean {
  return result.kind === 'answered' && [102, 200, 201, 202, 204].includes(result.status);
}
