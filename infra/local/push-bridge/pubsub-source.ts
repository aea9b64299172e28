import { Duration, type Message, type PubSub } from '@google-cloud/pubsub';
import { connectPubSub } from '../../../shared/adapters/pubsub/client.ts';
import { subscriptionId, topicId } from '../../../shared/adapters/pubsub/names.ts';
import type { Queue } from '../../../shared/ports/broker.ts';
import type { HeldMessage, Source } from './source.ts';

export interface PubSubSourceOptions {
  readonly projectId: string;
  readonly emulatorHost: string;
  readonly prefix: string;
}

const QUEUES: readonly Queue[] = ['changes', 'background', 'dead-letter'];

const ALREADY_EXISTS = 6;

/**
 * Pulls from the Pub/Sub emulator.
 *
 * The subscriptions carry no retry or dead letter policy: the emulator ignores the one and half implements the other,
 * so the bridge does both.
 */
export async function openPubSubSource({ prefix, ...connection }: PubSubSourceOptions): Promise<Source> {
  const client = await connectPubSub(connection);
  return {
    async prepare(signal) {
      for (const queue of QUEUES) {
        signal.throwIfAborted();
        await ensure(client.createTopic(topicId(prefix, queue)));
        await ensure(client.createSubscription(topicId(prefix, queue), subscriptionId(prefix, queue)));
      }
    },
    pull: (queue, maxHeld, handle, signal) => pull(client, subscriptionId(prefix, queue), maxHeld, handle, signal),
    async send(queue, { data, attributes }) {
      await client.topic(topicId(prefix, queue)).publishMessage({ data: Buffer.from(data, 'base64'), attributes });
    },
    close: () => client.close(),
  };
}

async function pull(
  client: PubSub,
  subscription: string,
  maxHeld: number,
  handle: Parameters<Source['pull']>[2],
  signal: AbortSignal,
): Promise<void> {
  const stream = client.subscription(subscription, {
    flowControl: { maxMessages: maxHeld, allowExcessMessages: false },
    streamingOptions: { maxStreams: 1 },
    // The client extends by the deadline it saw necessary; a killed bridge's messages should come back soon.
    maxAckDeadline: Duration.from({ seconds: 10 }),
  });
  const inHand = new Set<Promise<void>>();
  const stopped = Promise.withResolvers<void>();

  stream.on('message', (message: Message) => {
    if (signal.aborted) return message.nack();
    const settled = handle(heldMessage(message))
      .then((settlement) => message[settlement]())
      .catch(stopped.reject)
      .finally(() => inHand.delete(settled));
    inHand.add(settled);
  });
  // What the client could retry it has retried; the supervisor starts the bridge again.
  stream.on('error', stopped.reject);
  signal.addEventListener('abort', () => stopped.resolve(), { once: true });
  if (signal.aborted) stopped.resolve();

  try {
    await stopped.promise;
    await Promise.all(inHand);
  } finally {
    await stream.close();
  }
}

function heldMessage({ id, data, attributes, orderingKey, publishTime }: Message): HeldMessage {
  return {
    messageId: id,
    data: data.toString('base64'),
    attributes,
    ...(orderingKey === undefined || orderingKey === '' ? {} : { orderingKey }),
    publishTime: new Date(publishTime.getTime()).toISOString(),
  };
}

async function ensure(creation: Promise<unknown>): Promise<void> {
  try {
    await creation;
  } catch (error) {
    if ((error as { readonly code?: unknown }).code !== ALREADY_EXISTS) throw error;
  }
}
