import { Agent } from 'undici';
import type { PushResult } from './delivery.ts';
import type { HeldMessage } from './source.ts';

export interface PushRequest {
  readonly url: string;
  /** `projects/demo-driftless/subscriptions/driftless-changes` */
  readonly subscription: string;
  readonly message: HeldMessage;
  /** Present when the subscription has a dead letter policy. */
  readonly deliveryAttempt?: number;
  /** How long the function has, milliseconds: the subscription's ack deadline. */
  readonly timeoutMs: number;
}

/** Sends requests to the functions over connections that are kept. */
export interface Pusher {
  push(request: PushRequest, signal: AbortSignal): Promise<PushResult>;
  /** An empty POST with headers, as Cloud Scheduler sends it. */
  post(url: string, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<PushResult>;
  close(): Promise<void>;
}

export function createPusher(): Pusher {
  // The number of connections is bounded by the callers; the deadline is the signal's.
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connect: { timeout: 5_000 } });

  async function send(url: string, headers: Readonly<Record<string, string>>, body: string, signal: AbortSignal) {
    const { origin, pathname, search } = new URL(url);
    try {
      const response = await agent.request({ origin, path: pathname + search, method: 'POST', headers, body, signal });
      await response.body.dump();
      return { kind: 'answered', status: response.statusCode } as const;
    } catch (error) {
      return { kind: 'failed', code: codeOf(error) } as const;
    }
  }

  return {
    push: (request, signal) =>
      send(
        request.url,
        { 'content-type': 'application/json', 'user-agent': 'CloudPubSub-Google' },
        pushBody(request),
        AbortSignal.any([signal, AbortSignal.timeout(request.timeoutMs)]),
      ),
    post: (url, headers, signal) => send(url, headers, '', signal),
    close: () => agent.destroy(),
  };
}

/**
 * The body of a push, field for field as production sends it.
 *
 * @see https://cloud.google.com/pubsub/docs/push#receive_push
 */
function pushBody({ subscription, message, deliveryAttempt }: Omit<PushRequest, 'url' | 'timeoutMs'>): string {
  const { attributes, data, messageId, orderingKey, publishTime } = message;
  return JSON.stringify({
    ...(deliveryAttempt === undefined ? {} : { deliveryAttempt }),
    message: {
      attributes,
      data,
      messageId,
      message_id: messageId,
      ...(orderingKey === undefined ? {} : { orderingKey }),
      publishTime,
      publish_time: publishTime,
    },
    subscription,
  });
}

/** `ECONNREFUSED`, `UND_ERR_SOCKET`, `TimeoutError`, … */
function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'UNKNOWN';
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
