import { TransientError } from '../../errors.ts';
import { type Encoded, encode, type PublishedMessage } from '../../message/codec.ts';
import type { Doorbell } from '../../message/doorbell.ts';
import type { Publisher, Queue, Topic } from '../../ports/broker.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';

export interface MemoryBrokerOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** Messages held in all queues together; a publish beyond that is refused. @default 100_000 */
  readonly capacity?: number;
  /** A message that is neither acknowledged nor extended for this long is delivered again. @default 5_000 */
  readonly ackDeadlineMs?: number;
}

export interface PullOptions {
  readonly max: number;
  /** How long to wait for a first message. Milliseconds. */
  readonly waitMs: number;
}

/**
 * Pub/Sub in this process's memory: one subscription per topic, at-least-once, no order.
 *
 * A message that is negatively acknowledged is ready again at once; whoever pulls does the waiting. Nothing survives
 * the process.
 */
export class MemoryBroker implements Publisher {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #capacity: number;
  readonly #ackDeadlineMs: number;
  readonly #queues: Readonly<Record<Queue, QueueState>> = {
    changes: new QueueState(),
    background: new QueueState(),
    'dead-letter': new QueueState(),
  };
  #state: 'open' | 'closed' = 'open';

  constructor({ clock, random, capacity = 100_000, ackDeadlineMs = 5_000 }: MemoryBrokerOptions) {
    this.#clock = clock;
    this.#random = random;
    this.#capacity = capacity;
    this.#ackDeadlineMs = ackDeadlineMs;
  }

  async publish(topic: Topic, doorbell: Doorbell): Promise<string> {
    return this.accept(topic, encode(doorbell));
  }

  /** Takes a message as it travels. @throws {TransientError} when the broker is full or closed */
  accept(queue: Queue, { data, attributes }: Encoded): string {
    if (this.#state === 'closed')
      throw new TransientError('BROKER_UNAVAILABLE', 'cannot publish: the broker is closed');
    if (this.#size() >= this.#capacity) {
      throw new TransientError('BROKER_FULL', `cannot publish: the broker holds ${this.#capacity} messages`);
    }
    const messageId = this.#random.id();
    this.#queues[queue].add({ messageId, publishTime: this.#clock.now(), data, attributes });
    return messageId;
  }

  /** Up to `max` messages, as soon as there is one; none when `waitMs` has passed. Each is held until it is settled. */
  async pull(queue: Queue, { max, waitMs }: PullOptions, signal: AbortSignal): Promise<readonly PublishedMessage[]> {
    const state = this.#queues[queue];
    const end = this.#clock.monotonic() + waitMs;
    for (;;) {
      signal.throwIfAborted();
      const now = this.#clock.monotonic();
      const pulled = state.take(max, now, now + this.#ackDeadlineMs);
      if (pulled.length > 0 || now >= end) return pulled;
      await state.arrival(this.#clock, Math.min(end, state.nextExpiry()) - now, signal);
    }
  }

  ack(queue: Queue, messageIds: readonly string[]): void {
    for (const id of messageIds) this.#queues[queue].remove(id);
  }

  nack(queue: Queue, messageIds: readonly string[]): void {
    for (const id of messageIds) this.#queues[queue].giveBack(id);
  }

  /** Starts the ack deadline of held messages afresh. */
  extend(queue: Queue, messageIds: readonly string[]): void {
    const deadline = this.#clock.monotonic() + this.#ackDeadlineMs;
    for (const id of messageIds) this.#queues[queue].extend(id, deadline);
  }

  async close(): Promise<void> {
    this.#state = 'closed';
  }

  #size(): number {
    return Object.values(this.#queues).reduce((sum, queue) => sum + queue.size, 0);
  }
}

/** Messages are ready, or held until a deadline of the monotonic clock. */
class QueueState {
  readonly #ready = new Map<string, PublishedMessage>();
  /** In the order of their deadlines: each is inserted anew whenever it gets one, always the same span from now. */
  readonly #held = new Map<string, { readonly message: PublishedMessage; readonly deadline: number }>();
  readonly #waiting = new Set<AbortController>();

  get size(): number {
    return this.#ready.size + this.#held.size;
  }

  add(message: PublishedMessage): void {
    this.#ready.set(message.messageId, message);
    for (const waiter of this.#waiting) waiter.abort();
  }

  take(max: number, now: number, deadline: number): readonly PublishedMessage[] {
    this.#giveBackExpired(now);
    const taken: PublishedMessage[] = [];
    for (const [id, message] of this.#ready) {
      if (taken.length >= max) break;
      this.#ready.delete(id);
      this.#held.set(id, { message, deadline });
      taken.push(message);
    }
    return taken;
  }

  remove(id: string): void {
    this.#ready.delete(id);
    this.#held.delete(id);
  }

  giveBack(id: string): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.add(held.message);
  }

  extend(id: string, deadline: number): void {
    const held = this.#held.get(id);
    if (held === undefined) return;
    this.#held.delete(id);
    this.#held.set(id, { message: held.message, deadline });
  }

  nextExpiry(): number {
    for (const { deadline } of this.#held.values()) return deadline;
    return Number.POSITIVE_INFINITY;
  }

  /** Resolves when a message becomes ready, or after `ms`. */
  async arrival(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
    const waiter = new AbortController();
    this.#waiting.add(waiter);
    try {
      await clock.sleep(ms, AbortSignal.any([signal, waiter.signal]));
    } catch (error) {
      if (!waiter.signal.aborted) throw error;
    } finally {
      this.#waiting.delete(waiter);
    }
  }

  #giveBackExpired(now: number): void {
    for (const [id, { deadline }] of this.#held) {
      if (deadline > now) return;
      this.giveBack(id);
    }
  }
}
