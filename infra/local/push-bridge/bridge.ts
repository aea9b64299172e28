import type { Queue } from '../../../shared/ports/broker.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Logger } from '../../../shared/ports/logger.ts';
import { type DeliveryPolicy, isTurnedAway, nextStep, type PushResult } from './delivery.ts';
import type { Instances } from './instances.ts';
import { pause } from './pause.ts';
import type { Pusher } from './push.ts';
import { Slots } from './slots.ts';
import type { HeldMessage, Settlement, Source } from './source.ts';

/** One push subscription: what is pulled from `queue` is pushed to one of the `instances`. */
export interface Route extends DeliveryPolicy {
  readonly queue: Queue;
  /** Those of one function; routes to the same function share them. */
  readonly instances: Instances;
  /** The id of the subscription that the function is told. */
  readonly subscription: string;
  /**
   * Pushes that may be under way at once, for each instance: one that never answers must not take the places of those
   * that do.
   */
  readonly concurrency: number;
  /** The time a function has for one message. Milliseconds. */
  readonly ackDeadlineMs: number;
}

export interface Bridge {
  readonly projectId: string;
  readonly source: Source;
  readonly pusher: Pusher;
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * Messages that one subscription may have in hand, most of them waiting for their next attempt: production holds
 * those in the service, so they must not take the place of messages that can be pushed.
 */
const MAX_HELD = 10_000;

/** How long a push that is under way may go on after the bridge was told to stop. Milliseconds. */
const GRACE_MS = 2_000;

/**
 * Delivers messages as production's push subscriptions do, until `signal` aborts.
 *
 * Resolves when everything in hand is settled: finished pushes are acknowledged, the rest is given back to the broker.
 */
export async function runBridge(bridge: Bridge, routes: readonly Route[], signal: AbortSignal): Promise<void> {
  const cut = new AbortController();
  signal.addEventListener('abort', () => setTimeout(() => cut.abort(), GRACE_MS).unref(), { once: true });
  await Promise.all(routes.map((route) => runRoute(bridge, route, { stopping: signal, cut: cut.signal })));
}

interface Signals {
  /** Start nothing new. */
  readonly stopping: AbortSignal;
  /** Give up what is under way. */
  readonly cut: AbortSignal;
}

async function runRoute(bridge: Bridge, route: Route, signals: Signals): Promise<void> {
  const slots = new Slots(route.concurrency * route.instances.count);
  await bridge.source.pull(
    route.queue,
    MAX_HELD,
    (message) => deliver(bridge, route, slots, message, signals),
    signals.stopping,
  );
}

/** Pushes one message until it is accepted or goes to the dead letter. */
async function deliver(
  bridge: Bridge,
  route: Route,
  slots: Slots,
  message: HeldMessage,
  signals: Signals,
): Promise<Settlement> {
  let failed = 0;
  for (let attempt = 1; ; attempt += 1) {
    const result = await slots.run(() => pushOnce(bridge, route, message, attempt, signals));
    if (!isTurnedAway(result)) failed += 1;
    const next = nextStep(route, { all: attempt, failed }, result);
    if (next.kind === 'ack') return 'ack';
    // Whatever failed while the bridge stops says nothing about the message.
    if (signals.stopping.aborted) return 'nack';
    if (next.kind === 'dead-letter') return await deadLetter(bridge, route, message, attempt);
    await pause(bridge.clock, next.delayMs, signals.stopping);
  }
}

async function pushOnce(
  { pusher, clock, logger, projectId }: Bridge,
  route: Route,
  message: HeldMessage,
  attempt: number,
  { stopping, cut }: Signals,
): Promise<PushResult> {
  if (stopping.aborted) return { kind: 'failed', code: 'STOPPING' };
  const started = clock.monotonic();
  const request = {
    subscription: `projects/${projectId}/subscriptions/${route.subscription}`,
    message,
    timeoutMs: route.ackDeadlineMs,
    ...(route.maxDeliveryAttempts === undefined ? {} : { deliveryAttempt: attempt }),
  };
  const result = await route.instances.send((url) => pusher.push({ url, ...request }, cut));
  logger.info('message pushed', {
    messageId: message.messageId,
    topic: route.queue,
    attempt,
    status: result.kind === 'answered' ? result.status : result.code,
    durationMs: Math.round(clock.monotonic() - started),
  });
  return result;
}

/** Forwards the message with production's attributes. One that cannot be forwarded is given back. */
async function deadLetter(
  { source, logger, projectId }: Bridge,
  route: Route,
  message: HeldMessage,
  attempts: number,
): Promise<Settlement> {
  const { data, attributes, messageId, publishTime } = message;
  try {
    await source.send('dead-letter', {
      data,
      attributes: {
        ...attributes,
        CloudPubSubDeadLetterSourceDeliveryCount: String(attempts),
        CloudPubSubDeadLetterSourceSubscription: route.subscription,
        CloudPubSubDeadLetterSourceSubscriptionProject: projectId,
        CloudPubSubDeadLetterSourceTopicPublishTime: publishTime,
      },
    });
  } catch (error) {
    logger.error('message not dead-lettered', { messageId, topic: route.queue, error });
    return 'nack';
  }
  logger.warn('message dead-lettered', { messageId, topic: route.queue, attempts });
  return 'ack';
}
