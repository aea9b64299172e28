import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryWorkStore } from '../../../shared/adapters/memory/work-store.ts';
import { LeaseLostError } from '../../../shared/errors.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { Random } from '../../../shared/ports/random.ts';
import type { WorkStore } from '../../../shared/ports/work-store.ts';
import type { WorkItem } from '../../../shared/queue/work-item.ts';
import { type Answered, type Claim, WorkQueue } from '../../../shared/queue/work-queue.ts';
import { counting } from '../../support/counting-store.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { child, doorbell, itemKey, news, report, seen } from '../../support/work-items.ts';

const { signal } = new AbortController();
const SETTLED = { kind: 'settled' } as const;

/** A store, its clock, and queues of several processes on it. */
function world(wrap: (store: WorkStore) => WorkStore = (store) => store) {
  const clock = new FakeClock();
  const store = wrap(new MemoryWorkStore({ clock }));
  const queueOf = (holderIdentity: string, own: Clock = clock) =>
    new WorkQueue({ store, clock: own, random: counter(), holderIdentity });
  const stored = async (): Promise<WorkItem | undefined> => (await store.read(itemKey(), signal)).item;
  return { clock, store, queue: queueOf('worker-1'), queueOf, stored };
}

function counter(): Random {
  let count = 0;
  return { fraction: () => 0, id: () => String(++count) };
}

function claimed(answered: Answered): Claim {
  assert(answered.kind === 'claimed', `it is ${answered.kind}`);
  return answered.claim;
}

describe('WorkQueue', () => {
  it('R22: gives an object to one of ten messages, and leaves the news of the others with it', async () => {
    const { queueOf, stored } = world();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        queueOf(`worker-${n}`).answer(doorbell(news(`a@${n + 1}`)), `m${n}`, signal),
      ),
    );
    assert.deepEqual(answers.map(({ kind }) => kind).sort(), ['claimed', ...Array(9).fill('dirty')]);
    assert.equal((await stored())?.dirty.kind, 'versions');
  });

  it('I3: answers what is no news with one read and nothing else', async () => {
    const calls: string[] = [];
    const { queue, queueOf } = world((store) => counting(store, calls));
    const claim = claimed(await queue.answer(doorbell(news('a@5')), 'm1', signal));
    await queue.complete(claim, report(SETTLED, { seen: seen({ versions: { a: '5' } }) }), { canRerun: true }, signal);
    calls.length = 0;
    const other = queueOf('other');
    assert.deepEqual(await other.answer(doorbell(news('a@5')), 'm2', signal), { kind: 'no-news', ack: true });
    assert.deepEqual(calls, ['read']);
  });

  it('makes the holder give up early when the write of its claim took long to get there', async () => {
    const { clock, store } = world();
    const slowly: WorkStore = {
      ...counting(store, []),
      write: async (...args) => {
        clock.advance(2_000);
        return store.write(...args);
      },
    };
    const queue = new WorkQueue({ store: slowly, clock, random: counter(), holderIdentity: 'slow' });
    const { validUntil, item } = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    assert.equal(Math.round(validUntil), 3_400);
    assert.equal(item.alarm?.wakeAt, Date.parse('2026-01-01T00:00:06Z'));
  });

  it('tells which messages may be forgotten before the run has ended', async () => {
    const { queue } = world();
    claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    assert.deepEqual(await queue.answer(doorbell(news('a@1')), 'm1', signal), { kind: 'redelivered', ack: false });
    assert.deepEqual(await queue.answer(doorbell(news('a@2')), 'm2', signal), { kind: 'dirty', ack: true });
    assert.deepEqual(await queue.answer(doorbell(news('a@2')), 'm3', signal), { kind: 'dirty', ack: true });
  });

  it('notices that its claim was stored though the reply got lost, and does not wait for the lease to end', async () => {
    let lost = false;
    const { queue } = world((store) => ({
      ...counting(store, []),
      write: async (...args) => {
        const swap = await store.write(...args);
        if (lost) return swap;
        lost = true;
        return { kind: 'lost' };
      },
    }));
    claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
  });

  it('I2: is not taken for another that got the same token after the item was removed', async () => {
    const { store, queueOf, stored } = world();
    const { promise: held, resolve: letGo } = Promise.withResolvers<void>();
    const slow = new WorkQueue({
      store: { ...counting(store, []), write: (...args) => held.then(() => store.write(...args)) },
      clock: new FakeClock(),
      random: counter(),
      holderIdentity: 'slow',
    }).answer(doorbell(news('a@1')), 'm1', signal);
    const quick = queueOf('quick');
    const first = claimed(await quick.answer(doorbell(news('a@1')), 'm1', signal));
    await quick.complete(first, report({ kind: 'gone' }), { canRerun: true }, signal);
    letGo();
    assert.equal(claimed(await slow).token, first.token);

    const before = await stored();
    const again = await quick.complete(first, report({ kind: 'gone' }), { canRerun: true }, signal);
    assert.deepEqual(again, { kind: 'lost' });
    assert.deepEqual(await stored(), before);
  });

  it('makes the holder give up before the store does, however slow the calls are', async () => {
    const { clock, store } = world();
    const slowly: WorkStore = {
      ...counting(store, []),
      read: async (...args) => {
        clock.advance(1_000);
        return store.read(...args);
      },
    };
    const queue = new WorkQueue({
      store: slowly,
      clock,
      random: counter(),
      holderIdentity: 'slow',
    });
    const { validUntil, item } = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    assert.equal(Math.round(validUntil), 6_400);
    assert.equal(item.alarm?.wakeAt, Date.parse('2026-01-01T00:00:07Z'));
  });

  it('P46: replaces a dead holder after the lease by the store’s clock, whatever the clocks of the others say', async () => {
    const { clock, queueOf, stored } = world();
    const early = queueOf('early', new FakeClock('2025-12-31T23:55:00Z'));
    const late = queueOf('late', new FakeClock('2026-01-01T00:05:00Z'));
    const first = claimed(await early.answer(doorbell(news('a@1')), 'm1', signal));
    clock.advance(5_900);
    assert.equal((await late.answer(doorbell({ kind: 'alarm' }), 'm2', signal)).kind, 'no-news');
    assert.deepEqual(await late.due(10, signal), []);
    clock.advance(200);
    assert.deepEqual(await late.due(10, signal), [{ key: itemKey(), reason: 'lease' }]);
    const second = claimed(await late.answer(doorbell({ kind: 'alarm' }), 'm2', signal));
    assert(second.token > first.token);

    const before = await stored();
    const ended = await early.complete(first, report(SETTLED), { canRerun: true }, signal);
    assert.deepEqual(ended, { kind: 'lost' });
    await assert.rejects(early.renew(first, signal), LeaseLostError);
    await assert.rejects(early.intend(first, [child('web', null)], signal), LeaseLostError);
    assert.deepEqual(await stored(), before);
  });

  it('keeps a lease that is renewed, and what arrived meanwhile', async () => {
    const { clock, queue, stored } = world();
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    await queue.answer(doorbell(news('a@2')), 'm2', signal);
    clock.advance(4_000);
    const longer = await queue.renew(claim, signal);
    assert.equal(longer.token, claim.token);
    assert.equal(Math.round(longer.validUntil), 9_400);
    clock.advance(4_000);
    assert.equal((await queue.answer(doorbell({ kind: 'alarm' }), 'm3', signal)).kind, 'no-news');
    assert.equal((await stored())?.dirty.kind, 'versions');
  });

  it('P21: records a child before it is made, with one write, also when news came first', async () => {
    const calls: string[] = [];
    const { queue, stored } = world((store) => counting(store, calls));
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    calls.length = 0;
    const one = await queue.intend(claim, [child('web', null)], signal);
    assert.deepEqual(calls, ['write']);
    assert.equal(await queue.intend(one, [child('web', null)], signal), one);
    assert.deepEqual(calls, ['write']);

    await queue.answer(doorbell(news('a@2')), 'm2', signal);
    await queue.intend(one, [child('db', null)], signal);
    const item = await stored();
    assert.deepEqual(item?.children, [child('web', null), child('db', null)]);
    assert.equal(item?.dirty.kind, 'versions');
  });

  it('refuses more children than an item can hold, with a reason', async () => {
    const { queue } = world();
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    const children = Array.from({ length: 1001 }, (_, n) => child(`c${n}`, null));
    await assert.rejects(queue.intend(claim, children, signal), {
      code: 'TOO_MANY_CHILDREN',
      retry: { kind: 'never' },
    });
  });

  it('I1: goes on under a new claim when news came during the run', async () => {
    const { clock, queue } = world();
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    await queue.answer(doorbell(news('a@2')), 'm2', signal);
    clock.advance(1_000);
    const first = report(SETTLED, { seen: seen({ versions: { a: '1' } }) });
    const again = await queue.complete(claim, first, { canRerun: true }, signal);
    assert(again.kind === 'rerun');
    assert(again.claim.token > claim.token);
    assert.equal(Math.round(again.claim.validUntil), 6_400);
    const second = report(SETTLED, { seen: seen({ versions: { a: '2' } }) });
    assert.deepEqual(await queue.complete(again.claim, second, { canRerun: true }, signal), { kind: 'idle' });
  });

  it('P51: wakes an item when its delay is over, whoever is asked', async () => {
    const { clock, queue, queueOf } = world();
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    const ended = report({ kind: 'settled', requeueAfterMs: 600_000 });
    const completed = await queue.complete(claim, ended, { canRerun: true }, signal);
    assert(completed.kind === 'wake');
    clock.advance(599_999);
    assert.deepEqual(await queueOf('other').due(10, signal), []);
    clock.advance(2);
    assert.deepEqual(await queueOf('other').due(10, signal), [{ key: itemKey(), reason: 'requeue' }]);
    claimed(await queueOf('other').answer(doorbell({ kind: 'alarm' }), 'm2', signal));
    assert.deepEqual(await queueOf('other').due(10, signal), []);
  });

  it('I2: never gives a token twice, also after the item was removed and its object recreated', async () => {
    const { queue, stored } = world();
    const tokens: number[] = [];
    for (let n = 0; n < 5; n += 1) {
      const claim = claimed(await queue.answer(doorbell(news('a@1')), `m${n}`, signal));
      tokens.push(claim.token);
      assert.deepEqual(await queue.complete(claim, report({ kind: 'gone' }), { canRerun: true }, signal), {
        kind: 'gone',
      });
      assert.equal(await stored(), undefined);
    }
    assert.deepEqual(
      tokens,
      [...new Set(tokens)].sort((a, b) => a - b),
    );
  });

  it('gives up on an item that is too contended, so that the message comes again', async () => {
    const { queue } = world((store) => ({ ...counting(store, []), write: async () => ({ kind: 'lost' }) }));
    await assert.rejects(queue.answer(doorbell(news('a@1')), 'm1', signal), {
      code: 'CONTENDED',
      retry: { kind: 'backoff' },
    });
  });

  it('R13: releases what is in quarantine, and leaves its alarm in case the ring gets lost', async () => {
    const { queue, stored } = world();
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    const error = { code: 'INVALID_SPEC', message: 'spec.replicas is negative' };
    const failed = report({ kind: 'failed', error, retry: { kind: 'never' }, attempts: 1 });
    await queue.complete(claim, failed, { canRerun: true }, signal);
    assert.equal((await queue.answer(doorbell(news('a@1')), 'm2', signal)).kind, 'quarantined');

    const before = await queue.redrive(itemKey(), signal);
    assert.deepEqual(before?.quarantine, { reason: 'INVALID_SPEC', generation: 1 });
    assert.deepEqual(await queue.due(10, signal), [{ key: itemKey(), reason: 'redrive' }]);
    assert.equal((await stored())?.failures, 0);
    claimed(await queue.answer(doorbell({ kind: 'alarm' }), 'm3', signal));
  });

  it('looks once more at what is being worked on, when somebody asks for it', async () => {
    const { queue, stored } = world();
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    await queue.redrive(itemKey(), signal);
    assert.deepEqual((await stored())?.lease, claim.item.lease);
    assert.equal((await queue.complete(claim, report(SETTLED), { canRerun: true }, signal)).kind, 'rerun');
  });

  it('R8 R22: remembers the dead holder whose lease it takes away, and what that one may still create', async () => {
    const { queue, clock, stored } = world();
    const claim = claimed(await queue.answer(doorbell(news('a@1')), 'm1', signal));
    await queue.intend(claim, [child('web', null)], signal);
    clock.advance(10_000);
    await queue.redrive(itemKey(), signal);
    const item = await stored();
    assert.deepEqual(item?.unfenced, [claim.item.lease.holderIdentity]);
    assert.deepEqual(item?.children, [{ ...child('web', null), mayReturn: true }]);
    assert.equal(item?.failures, 0);
  });

  it('makes no item for an object that nobody has heard of', async () => {
    const { queue, stored } = world();
    assert.equal(await queue.redrive(itemKey(), signal), undefined);
    assert.equal(await stored(), undefined);
  });
});
