import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryWorkStore } from '../../../shared/adapters/memory/work-store.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import { type Answered, type Claim, WorkQueue } from '../../../shared/queue/work-queue.ts';
import { counting } from '../../support/counting-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { doorbell, itemKey, news, report, seen } from '../../support/work-items.ts';

const { signal } = new AbortController();

/** Several instances on one store, and the calls they make. */
function world() {
  const clock = new FakeClock();
  const store = new MemoryWorkStore({ clock });
  const calls: string[] = [];
  const counted = counting(store, calls);
  let count = 0;
  const random = { fraction: () => 0, id: () => String(++count) };
  const instance = (holderIdentity: string, own: Clock = clock) => {
    const queue = new WorkQueue({ store: counted, clock: own, random, holderIdentity });
    /** One whole run that sees this version. @returns the calls it took */
    const run = async (version: string): Promise<readonly string[]> => {
      calls.length = 0;
      const claim = claimed(await queue.answer(doorbell(news(`a@${version}`)), `m${version}`, signal));
      await queue.complete(
        claim,
        report({ kind: 'settled' }, { seen: seen({ versions: { a: version } }) }),
        { canRerun: true },
        signal,
      );
      return [...calls];
    };
    return { queue, run };
  };
  return { clock, store, calls, instance };
}

function claimed(answered: Answered): Claim {
  assert(answered.kind === 'claimed', `it is ${answered.kind}`);
  return answered.claim;
}

describe('a warm instance', () => {
  it('reads once, and then runs an object again and again with two writes each', async () => {
    const { instance } = world();
    const { run } = instance('one');
    assert.deepEqual(await run('1'), ['read', 'write', 'write']);
    assert.deepEqual(await run('2'), ['write', 'write']);
    assert.deepEqual(await run('3'), ['write', 'write']);
  });

  it('I3: answers the echo of its own run without any call', async () => {
    const { instance, calls } = world();
    const { queue, run } = instance('one');
    await run('5');
    calls.length = 0;
    assert.deepEqual(await queue.answer(doorbell(news('a@5')), 'echo', signal), { kind: 'no-news', ack: true });
    assert.deepEqual(calls, []);
  });

  it('I1: asks the store about everything that others may have changed', async () => {
    const { instance, clock, calls } = world();
    const one = instance('one');
    await one.run('5');
    clock.advance(1_000);
    claimed(await instance('two').queue.answer(doorbell(news('a@6')), 'm6', signal));
    calls.length = 0;
    assert.deepEqual(await one.queue.answer(doorbell(news('a@7')), 'm7', signal), { kind: 'dirty', ack: true });
    assert.deepEqual(calls, ['write', 'read', 'write']);
    assert.equal((await one.queue.answer(doorbell({ kind: 'alarm' }), 'm8', signal)).kind, 'no-news');
    assert.equal(calls.at(-1), 'read');
  });

  it('I2: takes no object from the one who holds it, however sure it is', async () => {
    const { instance, store } = world();
    const [one, two] = [instance('one'), instance('two')];
    await one.run('1');
    const held = claimed(await two.queue.answer(doorbell(news('a@2')), 'm2', signal));
    assert.equal((await one.queue.answer(doorbell(news('a@3')), 'm3', signal)).kind, 'dirty');
    assert.equal((await store.read(itemKey(), signal)).item?.lease?.token, held.token);
  });

  it('reads first where others do the same work, until it is mostly right again', async () => {
    const { instance } = world();
    const [one, two] = [instance('one'), instance('two')];
    await one.run('1');
    await two.run('2');
    assert.deepEqual(await one.run('3'), ['write', 'read', 'write', 'write']);
    await two.run('4');
    assert.deepEqual(await one.run('5'), ['read', 'write', 'write']);
    for (const version of ['6', '7', '8', '9']) assert.deepEqual(await one.run(version), ['read', 'write', 'write']);
    assert.deepEqual(await one.run('10'), ['write', 'write']);
  });

  it('reads what it stored more than a minute ago', async () => {
    const { instance, clock } = world();
    const { run } = instance('one');
    await run('1');
    clock.advance(60_001);
    assert.deepEqual(await run('2'), ['read', 'write', 'write']);
  });

  it('I6: gives up at once when its clock stood still meanwhile, and never outlives its lease', async () => {
    const { instance, clock, store } = world();
    const frozen = new FakeClock();
    const { queue, run } = instance('one', frozen);
    await run('1');
    clock.advance(30_000);
    const claim = claimed(await queue.answer(doorbell(news('a@2')), 'm2', signal));
    assert(claim.validUntil < frozen.monotonic());
    const longer = await queue.renew(claim, signal);
    const { item, nowMs } = await store.read(itemKey(), signal);
    assert.equal(Math.round((item?.alarm?.wakeAt ?? 0) - nowMs), 6_000);
    assert.equal(Math.round(longer.validUntil - frozen.monotonic()), 5_400);
  });
});
