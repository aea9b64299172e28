import type { PublishOptions, PubSub, Topic as PubSubTopic } from '@google-cloud/pubsub';
import { messageOf, TransientError } from '../../errors.ts';
import { type Encoded, encode } from '../../message/codec.ts';
import type { Doorbell } from '../../message/doorbell.ts';
import type { Publisher, Topic } from '../../ports/broker.ts';
import type { Guard } from '../../ports/guard.ts';
import { connectPubSub, type PubSubConnection } from './client.ts';
import { DEFAULT_PREFIX, topicId } from './names.ts';

export interface PubSubPublisherOptions extends PubSubConnection {
  /** @default 'driftless' */
  readonly prefix?: string;
  /** Deadline, retries and breaker of one publish. */
  readonly guard: Guard;
  /** How long one request to the broker may take, milliseconds. @default 3000 */
  readonly requestTimeoutMs?: number;
}

/**
 * Publishes doorbells to Pub/Sub.
 *
 * No ordering keys: they would forbid batches, and one failed publish would pause its key until somebody resumes it
 * (https://github.com/googleapis/nodejs-pubsub/issues/1524). The work queue needs no order.
 *
 * The client's own retries go on for ten minutes while messages pile up; they are off, and the guard decides.
 */
export class PubSubPublisher implements Publisher {
  readonly #options: PubSubPublisherOptions;
  readonly #topics = new Map<Topic, Promise<PubSubTopic>>();
  readonly #pending = new Set<Promise<string>>();
  readonly #closing = new AbortController();
  #client: Promise<PubSub> | undefined;

  constructor(options: PubSubPublisherOptions) {
    this.#options = options;
  }

  /** Loads the library, so that the first message need not wait for it. */
  async prepare(): Promise<void> {
    await this.#connect();
  }

  async publish(topic: Topic, doorbell: Doorbell): Promise<string> {
    const published = this.#send(topic, encode(doorbell));
    this.#pending.add(published);
    try {
      return await published;
    } finally {
      this.#pending.delete(published);
    }
  }

  async close(): Promise<void> {
    await Promise.allSettled(this.#pending);
    this.#closing.abort(new TransientError('BROKER_UNAVAILABLE', 'cannot publish: the publisher is closed'));
    await (await this.#client)?.close();
  }

  #send(topic: Topic, { data, attributes }: Encoded): Promise<string> {
    const message = { data: Buffer.from(data), attributes };
    return this.#options.guard(async (signal) => {
      try {
        const target = await this.#topic(topic);
        return await unlessAborted(target.publishMessage(message), signal);
      } catch (error) {
        if (error === signal.reason) throw error;
        const what = topicId(this.#options.prefix ?? DEFAULT_PREFIX, topic);
        throw new TransientError('BROKER_UNAVAILABLE', `cannot publish to ${what}: ${messageOf(error)}`, {
          cause: error,
        });
      }
    }, this.#closing.signal);
  }

  #connect(): Promise<PubSub> {
    this.#client ??= connectPubSub(this.#options);
    return this.#client;
  }

  #topic(topic: Topic): Promise<PubSubTopic> {
    const known = this.#topics.get(topic);
    if (known !== undefined) return known;
    const { prefix = DEFAULT_PREFIX, requestTimeoutMs = 3_000 } = this.#options;
    const opened = this.#connect().then((client) =>
      client.topic(topicId(prefix, topic), publishOptions(requestTimeoutMs)),
    );
    this.#topics.set(topic, opened);
    return opened;
  }
}

function publishOptions(timeout: number): PublishOptions {
  return {
    // A batch leaves when it is full or 5 ms old, whichever comes first.
    batching: { maxMessages: 100, maxMilliseconds: 5 },
    gaxOpts: { timeout, retry: null },
  };
}

/** The client knows no signal: a publish that is given up may still arrive, which is harmless. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
