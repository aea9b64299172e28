import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryBroker } from '../../shared/adapters/memory/broker.ts';
import type { Random } from '../../shared/ports/random.ts';
import { FakeClock } from '../support/fake-clock.ts';

describe('the in-memory broker', () => {
  const { signal } = new AbortController();
  const now = { max: 10, waitMs: 0 };

  it('holds a pulled message until it is acknowledged', async () => {
    const { broker } = newBroker();
    broker.accept('changes', message('a'));
    assert.deepEqual(await broker.pull('changes', now, signal), [
      { messageId: 'm1', publishTime: Date.parse('2026-01-01T00:00:00Z'), data: 'a', attributes: {} },
    ]);
    assert.deepEqual(await broker.pull('changes', now, signal), []);
    broker.ack('changes', ['m1']);
    broker.nack('changes', ['m1']);
    assert.deepEqual(await broker.pull('changes', now, signal), []);
  });

  it('delivers again what was negatively acknowledged', async () => {
    const { broker } = newBroker();
    broker.accept('changes', message('a'));
    await broker.pull('changes', now, signal);
    broker.nack('changes', ['m1']);
    assert.deepEqual(dataOf(await broker.pull('changes', now, signal)), ['a']);
  });

  it('delivers again what its holder forgot, but not what the holder extends', async () => {
    const { broker, clock } = newBroker();
    broker.accept('changes', message('forgotten'));
    broker.accept('changes', message('extended'));
    await broker.pull('changes', now, signal);
    clock.advance(4_000);
    broker.extend('changes', ['m2']);
    clock.advance(1_000);
    assert.deepEqual(dataOf(await broker.pull('changes', now, signal)), ['forgotten']);
    clock.advance(4_000);
    assert.deepEqual(dataOf(await broker.pull('changes', now, signal)), ['extended']);
  });

  it('wakes a waiting pull when a message arrives', async () => {
    const { broker } = newBroker();
    const pulling = broker.pull('changes', { max: 10, waitMs: 60_000 }, signal);
    broker.accept('changes', message('a'));
    assert.deepEqual(dataOf(await pulling), ['a']);
  });

  it('wakes a waiting pull when an ack deadline passes', async () => {
    const { broker, clock } = newBroker();
    broker.accept('changes', message('a'));
    await broker.pull('changes', now, signal);
    const pulling = broker.pull('changes', { max: 10, waitMs: 60_000 }, signal);
    clock.advance(5_000);
    assert.deepEqual(dataOf(await pulling), ['a']);
  });

  it('ends a waiting pull with nothing when its time is over, and with the reason when it is aborted', async () => {
    const { broker, clock } = newBroker();
    const patient = broker.pull('changes', { max: 10, waitMs: 2_000 }, signal);
    clock.advance(2_000);
    assert.deepEqual(await patient, []);

    const stopping = new AbortController();
    const aborted = broker.pull('changes', { max: 10, waitMs: 2_000 }, stopping.signal);
    stopping.abort(new Error('stopping'));
    await assert.rejects(aborted, /stopping/);
    assert.equal(clock.sleeping, 0);
  });

  it('P49: refuses what would not fit into its memory, and takes it again when there is room', async () => {
    const { broker } = newBroker({ capacity: 2 });
    broker.accept('changes', message('a'));
    broker.accept('background', message('b'));
    assert.throws(() => broker.accept('changes', message('c')), { code: 'BROKER_FULL' });
    await broker.pull('changes', now, signal);
    assert.throws(() => broker.accept('changes', message('c')), { code: 'BROKER_FULL' });
    broker.ack('changes', ['m1']);
    assert.equal(broker.accept('changes', message('c')), 'm3');
  });
});

function newBroker({ capacity = 100 } = {}) {
  const clock = new FakeClock();
  let count = 0;
  const random: Random = { fraction: () => 0, id: () => `m${++count}` };
  return { clock, broker: new MemoryBroker({ clock, random, capacity }) };
}

function message(data: string) {
  return { data, attributes: {} };
}

function dataOf(messages: readonly { readonly data: string }[]): readonly string[] {
  return messages.map(({ data }) => data);
}
