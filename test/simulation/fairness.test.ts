/**
 * The forwarder's dispatcher, a broker, and one instance of limited capacity, in one deterministic world: what quiet
 * tenants notice of a noisy one.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Turns } from '../../functions/turns.ts';
import { MemoryBroker } from '../../shared/adapters/memory/broker.ts';
import { decode } from '../../shared/message/codec.ts';
import type { Topic } from '../../shared/message/doorbell.ts';
import { TenantBudgets } from '../../shared/queue/tenant-budgets.ts';
import type { ItemKey } from '../../shared/queue/work-item.ts';
import { Dispatcher } from '../../shared/watch/dispatcher.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { LogBook } from '../support/memory-runtime.ts';
import { doorbell, itemKey } from '../support/work-items.ts';

const STEP_MS = 5;
/** The way of a push there and back, and a run: eight slots make at most 400 runs a second. */
const PUSH_MS = 5;
const RUN_MS = 20;
const SLOTS = 8;
const QUIET_TENANTS = 20;
const QUIET_EVERY_MS = 500;

interface Noise {
  readonly objects: number;
  readonly flapping: boolean;
}

/** `none`: first come, first served. */
type Fairness = 'budgets and lanes' | 'none';

/** Ten seconds of quiet tenants, with noise from the second one on. */
async function simulate({ objects, flapping }: Noise, fairness: Fairness = 'budgets and lanes') {
  const budgets = new TenantBudgets(fairness === 'none' ? 1_000_000 : 20);
  const pushes: Readonly<Record<Topic, number>> = { changes: fairness === 'none' ? SLOTS : 64, background: 4 };
  const clock = new FakeClock();
  let ids = 0;
  const random = { fraction: () => 0.5, id: () => `id-${++ids}` };
  const log = new LogBook();
  const broker = new MemoryBroker({ clock, random, ackDeadlineMs: 600_000 });
  const dispatcher = new Dispatcher({ publisher: broker, clock, random, logger: log, budgets });
  const turns = new Turns({ slots: fairness === 'none' ? 1_000 : SLOTS, room: 32, clock, log });
  const stop = new AbortController();
  const changedAt = new Map<string, number>();
  const took: number[] = [];
  let noisyRuns = 0;

  async function run(key: ItemKey): Promise<'done'> {
    await clock.sleep(RUN_MS);
    const since = changedAt.get(key.namespace);
    if (key.namespace.startsWith('noisy')) noisyRuns += 1;
    else if (since !== undefined) took.push(clock.monotonic() - since);
    changedAt.delete(key.namespace);
    return 'done';
  }

  /** One of the pushes that may be under way. */
  async function push(topic: Topic): Promise<void> {
    for (;;) {
      const [message] = await broker.pull(topic, { max: 1, waitMs: Number.MAX_VALUE }, stop.signal);
      if (message === undefined) continue;
      await clock.sleep(PUSH_MS, stop.signal);
      const delivery = { messageId: message.messageId, deliveryAttempt: 1, topic, doorbell: decode(message.data) };
      if ((await turns.take(delivery, stop.signal, () => run(delivery.doorbell.key))) === 'done') {
        broker.ack(topic, [message.messageId]);
      } else {
        void clock.sleep(100, stop.signal).then(() => broker.nack(topic, [message.messageId]), NOTHING);
      }
    }
  }

  function ring(namespace: string, name: string): void {
    const key = itemKey({ namespace, name });
    dispatcher.ring({ topic: 'changes', doorbell: doorbell({ kind: 'unknown' }, { key }) });
  }

  const working = [dispatcher.run(stop.signal)];
  for (const topic of ['changes', 'background'] as const) {
    for (let n = 0; n < pushes[topic]; n += 1) working.push(push(topic).catch(NOTHING));
  }
  for (let now = 0; now < 10_000; now += STEP_MS) {
    if (now === 1_000) for (let n = 0; n < objects; n += 1) ring('noisy', `object-${n}`);
    if (now >= 1_000 && flapping && now % 10 === 0) ring('noisy-flap', 'flaps');
    for (let n = 0; n < QUIET_TENANTS; n += 1) {
      if ((now + n * 25) % QUIET_EVERY_MS !== 0 || now > 9_000) continue;
      if (!changedAt.has(`quiet-${n}`)) changedAt.set(`quiet-${n}`, now);
      ring(`quiet-${n}`, 'web');
    }
    for (let n = 0; n < 4; n += 1) await turn();
    clock.advance(STEP_MS);
  }
  stop.abort();
  for (let n = 0; n < 10; n += 1) await turn();
  clock.advance(10_000);
  await Promise.all(working);
  const answered = took.length;
  // What was never answered took longer than until now.
  for (const since of changedAt.values()) took.push(10_000 - since);
  took.sort((a, b) => a - b);
  return {
    answered,
    p99: took[Math.ceil(took.length * 0.99) - 1],
    noisyRuns,
    demoted: budgets.stats.demoted,
    warnings: log.lines.filter(({ level }) => level === 'warn').map(({ message }) => message),
  };
}

const NOTHING = () => undefined;

describe('fairness', () => {
  it('R24: quiet tenants, alone', async () => {
    const { p99, answered } = await simulate({ objects: 0, flapping: false });
    assert.deepEqual({ p99, answered }, { p99: 25, answered: 361 });
  });

  it('R24, I5: 10,000 objects of one tenant that change at once, and an object that flaps 100 times a second', async (test) => {
    const { p99, answered, noisyRuns, demoted, warnings } = await simulate({ objects: 10_000, flapping: true });
    test.diagnostic(`${noisyRuns} runs of the noisy ones, ${demoted} demoted`);
    assert.deepEqual({ p99, answered }, { p99: 25, answered: 361 });
    assert.deepEqual(warnings, ['tenant is over its budget', 'no room for more deliveries']);
    assert(noisyRuns > 1_000, 'what the others leave is used');
  });

  it('without budgets and lanes the quiet ones wait behind the noisy one', async () => {
    const { p99 } = await simulate({ objects: 10_000, flapping: true }, 'none');
    assert.equal(p99, 9_000);
  });
});
