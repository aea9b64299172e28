import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { MemoryAlarmSource } from '../../../shared/adapters/memory/alarm-source.ts';
import { MemoryWorkStore } from '../../../shared/adapters/memory/work-store.ts';
import { TerminalError, TransientError } from '../../../shared/errors.ts';
import type { Doorbell, Topic } from '../../../shared/message/doorbell.ts';
import type { AlarmSource, AlarmView, StoreState } from '../../../shared/ports/alarm-source.ts';
import type { Publisher } from '../../../shared/ports/broker.ts';
import type { Revision } from '../../../shared/ports/work-store.ts';
import { AlarmClock, type AlarmClockOptions } from '../../../shared/queue/alarm-clock.ts';
import type { AlarmWindow } from '../../../shared/queue/alarm-table.ts';
import type { StoreGap } from '../../../shared/queue/store-gap.ts';
import { TenantBudgets } from '../../../shared/queue/tenant-budgets.ts';
import type { Alarm, ItemKey } from '../../../shared/queue/work-item.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { LogBook } from '../../support/memory-runtime.ts';
import { itemKey, workItem } from '../../support/work-items.ts';

/** Notes what is rung and when; fails or hangs as long as it is told to. */
class Broker implements Publisher {
  readonly rung: { readonly at: number; readonly name: string; readonly topic: Topic; readonly doorbell: Doorbell }[] =
    [];
  refusal: Error | undefined;
  readonly #clock: FakeClock;
  constructor(clock: FakeClock) {
    this.#clock = clock;
  }
  get names(): readonly string[] {
    return this.rung.map(({ name }) => name);
  }
  async publish(topic: Topic, doorbell: Doorbell): Promise<string> {
    if (this.refusal !== undefined) throw this.refusal;
    this.rung.push({ at: this.#clock.monotonic(), name: doorbell.key.name, topic, doorbell });
    return `m${this.rung.length}`;
  }
  async close(): Promise<void> {}
}

/** The alarms of a store, which can be made to break off or to go away. */
class Breakable implements AlarmSource {
  away: Error | undefined;
  epoch: string | undefined;
  silent = false;
  breakOff: () => void = () => undefined;
  readonly #source: AlarmSource;
  constructor(source: AlarmSource) {
    this.#source = source;
  }
  async state(signal: AbortSignal): Promise<StoreState> {
    if (this.away !== undefined) throw this.away;
    const state = await this.#source.state(signal);
    return this.epoch === undefined ? state : { ...state, epoch: this.epoch };
  }
  async *follow(window: AlarmWindow, signal: AbortSignal): AsyncIterable<AlarmView> {
    const broken = new AbortController();
    this.breakOff = () => broken.abort();
    for await (const view of this.#source.follow(window, AbortSignal.any([signal, broken.signal]))) {
      if (!this.silent) yield view;
    }
    if (broken.signal.aborted) throw new TransientError('STORE_UNAVAILABLE', 'the stream broke');
  }
}

/** A clock over a store in memory; it runs as soon as time passes. */
function start(test: TestContext, options: Partial<AlarmClockOptions> = {}) {
  const clock = new FakeClock();
  const store = new MemoryWorkStore({ clock });
  const source = new Breakable(new MemoryAlarmSource({ store, cluster: 'local' }));
  const broker = new Broker(clock);
  const log = new LogBook();
  const random = { fraction: () => 0.5, id: () => 'id' };
  const gaps: StoreGap[] = [];
  const onGap = (gap: StoreGap) => gaps.push(gap);
  const alarms = new AlarmClock({ source, publisher: broker, clock, random, logger: log, onGap, ...options });
  const { signal } = new AbortController();
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  const revisions = new Map<string, Revision>();
  const zero = Date.parse('2026-01-01T00:00:00Z');

  /** Lets all that can happen now happen. */
  async function settle(): Promise<void> {
    for (let n = 0; n < 3; n += 1) await turn();
  }
  test.after(async () => {
    stopping.abort();
    await running;
  });
  return {
    clock,
    source,
    broker,
    log,
    alarms,
    gaps,
    stopping,
    ended: async () => await running,
    /** Sets the alarm of an item, `atMs` after the start; null answers it. */
    async set(name: string, atMs: number | null, more: Partial<Alarm & ItemKey> = {}): Promise<void> {
      const { reason = 'requeue', namespace = 'default' } = more;
      const alarm = atMs === null ? null : { wakeAt: zero + atMs, reason };
      const item = workItem({ key: itemKey({ name, namespace }), alarm });
      const swap = await store.write(item, revisions.get(name), signal);
      assert(swap.kind === 'stored');
      revisions.set(name, swap.revision);
    },
    async pass(ms: number, stepMs = 10): Promise<void> {
      running ??= alarms.run(stopping.signal);
      await settle();
      for (let passed = 0; passed < ms; passed += stepMs) {
        clock.advance(stepMs);
        await settle();
      }
    },
  };
}

describe('alarm clock', () => {
  it('P51: rings an alarm of the background at its time, and says for whom', async (test) => {
    const { set, pass, broker, alarms } = start(test);
    await set('web', 300);
    await pass(290);
    assert.deepEqual(broker.rung, []);
    await pass(10);
    assert.deepEqual(broker.rung, [
      {
        at: 300,
        name: 'web',
        topic: 'background',
        doorbell: { key: itemKey({ name: 'web' }), news: { kind: 'alarm' }, trigger: 'alarm' },
      },
    ]);
    assert.equal(alarms.stats().lateMs, 0);
  });

  it('R24: what is owed to a change goes before the background, the lease of a dead holder first of all', async (test) => {
    const { set, pass, broker } = start(test);
    for (const reason of ['lease', 'backoff', 'rerun', 'throttled', 'redrive', 'requeue'] as const) {
      await set(reason, 100, { reason });
    }
    await pass(100);
    const of = (topic: Topic) => broker.rung.flatMap((ring) => (ring.topic === topic ? [ring.name] : [])).sort();
    assert.deepEqual(of('changes'), ['backoff', 'lease', 'redrive', 'rerun', 'throttled']);
    assert.deepEqual(of('background'), ['requeue']);
  });

  it('R24: the retries of a tenant over its budget go to the background, and not one of another tenant', async (test) => {
    const { set, pass, broker } = start(test, { budgets: new TenantBudgets(5) });
    for (let n = 0; n < 40; n += 1) await set(`noisy-${n}`, 100, { reason: 'backoff', namespace: 'noisy' });
    await set('died', 101, { reason: 'lease', namespace: 'noisy' });
    await set('quiet', 101, { reason: 'backoff', namespace: 'quiet' });
    await pass(100);
    await pass(100);
    const changes = broker.rung.filter(({ topic }) => topic === 'changes').map(({ name }) => name);
    assert.deepEqual(changes.slice(-2), ['died', 'quiet']);
    assert.equal(changes.length, 8);
    assert.equal(broker.rung.length, 42);
  });

  it('rings an alarm at once that is set while it sleeps, and one that is moved closer', async (test) => {
    const { set, pass, broker } = start(test);
    await set('later', 2_000);
    await pass(1_000);
    await set('at-once', 900);
    await pass(0);
    assert.deepEqual(broker.names, ['at-once']);
    await set('later', 1_100);
    await pass(100);
    assert.deepEqual(broker.names, ['at-once', 'later']);
  });

  it('does not ring for a lease that was given back before it ran out', async (test) => {
    const { set, pass, broker } = start(test);
    for (let run = 0; run < 20; run += 1) {
      await set('web', run * 500 + 6_000);
      await pass(100);
      await set('web', null);
      await pass(400);
    }
    await pass(10_000, 100);
    assert.deepEqual(broker.names, []);
  });

  it('R75: rings when the lease of a holder that died runs out', async (test) => {
    const { set, pass, broker } = start(test);
    await set('web', 6_000);
    await pass(6_000);
    assert.deepEqual(
      broker.rung.map(({ at }) => at),
      [6_000],
    );
  });

  it('rings 10,000 that are due at once at 500 a second, oldest first, none twice, though nobody answers', async (test) => {
    const { set, pass, broker, clock } = start(test, { limit: 250 });
    const names = Array.from({ length: 10_000 }, (_, n) => `web-${String(n).padStart(5, '0')}`);
    for (const [n, name] of names.entries()) await set(name, 5_000 + Math.floor(n / 100));
    await pass(5_200, 100);
    let most = 0;
    for (let before = broker.rung.length; broker.rung.length < names.length; before = broker.rung.length) {
      assert(clock.monotonic() < 40_000, `only ${before} are rung`);
      await pass(100);
      most = Math.max(most, broker.rung.length - before);
    }
    assert.deepEqual(broker.names, names);
    assert(most <= 101, `${most} within 100 ms`);
  });

  it('rings again what nobody has answered for a grace time: a lost message loses no alarm', async (test) => {
    const { set, pass, broker } = start(test, { graceMs: 10_000 });
    await set('lost', 1_000);
    await set('answered', 1_000);
    await pass(1_100);
    await set('answered', null);
    await pass(9_800, 100);
    assert.deepEqual(broker.names, ['answered', 'lost']);
    await pass(10_200, 100);
    assert.deepEqual(broker.names, ['answered', 'lost', 'lost']);
  });

  it('goes on when the stream breaks, without ringing twice', async (test) => {
    const { set, pass, broker, source, alarms, log } = start(test);
    await set('before', 100);
    await set('across', 500);
    await pass(200);
    source.away = new TransientError('STORE_UNAVAILABLE', 'the store is away');
    source.breakOff();
    await pass(300);
    assert.deepEqual(broker.names, ['before', 'across']);
    assert.equal(alarms.stats().phase, 'failing');
    assert.equal(alarms.stats().lastError, 'the store is away');
    await set('during', 600);
    await pass(20_000, 100);
    source.away = undefined;
    await pass(6_000, 100);
    assert.deepEqual(broker.names, ['before', 'across', 'during']);
    assert.equal(alarms.stats().phase, 'listening');
    assert.deepEqual(
      log.lines.filter(({ message }) => message.startsWith('alarms')).map(({ message }) => message),
      ['alarms cannot be followed', 'alarms are followed again'],
    );
  });

  it('leaves a stream that fell silent, and says so', async (test) => {
    const { set, pass, broker, source, alarms } = start(test);
    await pass(10);
    source.silent = true;
    await pass(6_100, 100);
    assert.equal(alarms.stats().lastError, 'no alarms were shown within 3000 ms');
    source.silent = false;
    await set('web', 6_000);
    await pass(3_100, 100);
    assert.deepEqual(broker.names, ['web']);
  });

  it('says within a window that the store was emptied, once, and of which it is', async (test) => {
    const { pass, source, alarms, gaps, log } = start(test);
    source.epoch = 'first';
    await pass(10_000, 100);
    assert.deepEqual(gaps, []);
    source.epoch = 'second';
    await pass(3_100, 100);
    assert.deepEqual(gaps, [{ kind: 'emptied' }]);
    await pass(20_000, 100);
    assert.equal(gaps.length, 1);
    assert.equal(alarms.stats().gaps, 1);
    assert.deepEqual(
      log.lines.map(({ message }) => message),
      ['work may be lost with the store: every object is rung'],
    );
  });

  it('says when a store is back that was away for so long that messages may have been given up', async (test) => {
    const { pass, source, gaps } = start(test);
    await pass(1_000);
    source.away = new TransientError('STORE_UNAVAILABLE', 'the store is away');
    await pass(10_000, 100);
    source.away = undefined;
    await pass(10_000, 100);
    assert.deepEqual(gaps, []);
    source.away = new TransientError('STORE_UNAVAILABLE', 'the store is away');
    await pass(30_000, 100);
    assert.deepEqual(gaps, []);
    source.away = undefined;
    await pass(10_000, 100);
    assert.deepEqual(
      gaps.map(({ kind }) => kind),
      ['away'],
    );
  });

  it('does not take a store for away that answers, but shows no alarms', async (test) => {
    const { pass, source, gaps, alarms } = start(test);
    source.silent = true;
    await pass(60_000, 100);
    assert.equal(alarms.stats().phase, 'failing');
    assert.deepEqual(gaps, []);
  });

  it('P46: is not moved by the time of its machine', async (test) => {
    const { set, pass, broker, clock } = start(test);
    await set('web', 5_000);
    await pass(1_000);
    clock.jump(3_600_000);
    await pass(3_900, 100);
    clock.jump(-7_200_000);
    assert.deepEqual(broker.names, []);
    await pass(100);
    assert.deepEqual(
      broker.rung.map(({ at }) => at),
      [5_000],
    );
  });

  it('leaves a broker that fails alone for a second, says so once, and rings then', async (test) => {
    const { set, pass, broker, log, alarms } = start(test);
    broker.refusal = new TransientError('BROKER_UNAVAILABLE', 'away');
    await set('web', 100);
    await pass(2_500);
    assert.equal(alarms.stats().failures, 3);
    broker.refusal = undefined;
    await pass(1_000);
    assert.deepEqual(broker.names, ['web']);
    assert.deepEqual(
      log.lines.map(({ message }) => message),
      ['broker does not take alarms', 'broker takes alarms again', 'alarm rung'],
    );
  });

  it('does not hold others up with an alarm that cannot be sent', async (test) => {
    const { set, pass, broker, alarms } = start(test);
    broker.refusal = new TerminalError('TOO_LARGE', 'cannot be sent');
    await set('bad', 100);
    await pass(100);
    broker.refusal = undefined;
    await set('good', 200);
    await pass(2_000);
    assert.deepEqual(broker.names, ['good']);
    assert.equal(alarms.stats().failures, 1);
  });

  it('ends when what is being rung has been taken, or two seconds later', async (test) => {
    const taken = Promise.withResolvers<string>();
    const publisher: Publisher = { publish: () => taken.promise, close: async () => undefined };
    const { set, pass, stopping, ended } = start(test, { publisher });
    await set('web', 100);
    await pass(100);
    let over = false;
    const end = ended().then(() => {
      over = true;
    });
    stopping.abort();
    await pass(1_000);
    assert.equal(over, false);
    taken.resolve('m1');
    await end;
  });

  it('has nothing asleep behind it when it has ended', async (test) => {
    const { set, pass, stopping, ended, clock } = start(test);
    await set('web', 100);
    await pass(50);
    stopping.abort();
    await ended();
    assert.equal(clock.sleeping, 0);
  });
});
