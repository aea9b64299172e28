/**
 * One function instance: a process with a clock, a work queue and whatever that remembers, and several deliveries at
 * once. It sleeps as a whole and dies as a whole.
 */

import type { Publisher } from '../../shared/ports/broker.ts';
import type { Clock } from '../../shared/ports/clock.ts';
import type { Cluster } from '../../shared/ports/cluster.ts';
import type { WorkStore } from '../../shared/ports/work-store.ts';
import { Pace } from '../../shared/queue/pace.ts';
import { WorkQueue } from '../../shared/queue/work-queue.ts';
import { reconcileOnce } from '../../shared/reconcile/run.ts';
import type { Runtime } from '../../shared/reconcile/runtime.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { LogBook } from '../support/memory-runtime.ts';
import type { Message } from './random-messages.ts';
import { controller } from './random-widgets.ts';

/** Whom and what an instance talks to. */
export interface Surroundings {
  readonly store: WorkStore;
  readonly cluster: Cluster;
  readonly publisher: Publisher;
  readonly newId: () => string;
}

/** The wall clocks of instances, up to ten minutes off: nothing may depend on them. */
const WALL_CLOCKS = ['2026-01-01T00:00:00Z', '2026-01-01T00:10:00Z', '2025-12-31T23:50:00Z'];

export class Instance {
  readonly id: string;
  /** What it works on, until it has answered. */
  readonly messages = new Set<Message>();
  state: 'awake' | 'asleep' | 'dead' = 'awake';
  readonly #deliveries = new Set<AbortController>();
  readonly #clock: FakeClock;
  readonly #runtime: Runtime;
  /** How far its clock is behind. */
  #missedMs = 0;

  constructor(number: number, connect: (instance: Instance) => Surroundings) {
    this.id = `i${number}`;
    this.#clock = new FakeClock(WALL_CLOCKS[number % WALL_CLOCKS.length]);
    this.#runtime = runtimeOf(this.id, this.#clock, connect(this));
  }

  /** @returns whether the message may be forgotten; never, if the instance dies before it is answered */
  async take(message: Message): Promise<boolean> {
    this.messages.add(message);
    const delivery = {
      messageId: message.id,
      deliveryAttempt: 1,
      topic: 'changes',
      doorbell: message.doorbell,
    } as const;
    // One of its own: listeners on a shared signal would outlive the delivery.
    const ending = new AbortController();
    this.#deliveries.add(ending);
    try {
      const { ack } = await reconcileOnce(delivery, this.#runtime, ending.signal);
      return ack;
    } catch {
      return false;
    } finally {
      this.#deliveries.delete(ending);
    }
  }

  /** It is told to end: its runs stop, and hand over. */
  terminate(): void {
    for (const delivery of this.#deliveries) delivery.abort(new Error('the instance is terminating'));
  }

  /** Wakes up; its clock has gone on meanwhile, or has not, as in a machine that was suspended. */
  wake(clock: 'went on' | 'stood still'): void {
    if (this.state !== 'asleep') return;
    this.state = 'awake';
    if (clock === 'went on') this.#clock.advance(this.#missedMs);
    this.#missedMs = 0;
  }

  pass(ms: number): void {
    if (this.state === 'asleep') this.#missedMs += ms;
    else this.#clock.advance(ms);
  }
}

export function runtimeOf(holderIdentity: string, clock: Clock, around: Surroundings): Runtime {
  const { store, cluster, publisher, newId } = around;
  const random = { fraction: () => 0.5, id: newId };
  return {
    queue: new WorkQueue({ store, clock, random, holderIdentity }),
    clusters: new Map([['local', cluster]]),
    controllers: new Map([[controller.name, controller]]),
    publisher,
    retries: new Pace(10, 10_000),
    clock,
    random,
    log: new LogBook(),
  };
}
