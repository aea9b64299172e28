import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it } from 'node:test';
import { SystemClock } from '../../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../../shared/adapters/system/random.ts';

describe('the system clock', () => {
  it('sleeps at least as long as asked', async () => {
    const clock = new SystemClock();
    const start = clock.monotonic();
    await clock.sleep(20);
    assert.ok(clock.monotonic() - start >= 20);
  });

  it('sleeps longer than a timer can, instead of not at all', async () => {
    const clock = new SystemClock();
    const stop = new AbortController();
    let woke = false;
    const sleeping = clock.sleep(2 ** 31, stop.signal).finally(() => (woke = true));
    await new Promise((resolve) => setTimeout(resolve, 5));
    assert.equal(woke, false);
    stop.abort(new Error('enough'));
    await assert.rejects(sleeping, { message: 'enough' });
    assert.equal(woke, true);
  });

  it('wakes with the reason of an abort, also of one that came first', async () => {
    const clock = new SystemClock();
    const reason = new Error('enough');
    const stop = new AbortController();
    const sleeping = clock.sleep(60_000, stop.signal);
    stop.abort(reason);
    await assert.rejects(sleeping, (error) => error === reason);
    await assert.rejects(clock.sleep(60_000, stop.signal), (error) => error === reason);
    await assert.rejects(clock.sleep(0, stop.signal), (error) => error === reason);
  });

  it('leaves no listener on a signal that outlives its sleeps', async () => {
    const { signal } = new AbortController();
    for (let i = 0; i < 5; i++) await new SystemClock().sleep(1, signal);
    assert.equal(getEventListeners(signal, 'abort').length, 0);
  });
});

describe('chance', () => {
  it('is a fraction below one, and an id that does not come twice', () => {
    const random = new SystemRandom();
    for (let i = 0; i < 100; i++) assert.ok(random.fraction() >= 0 && random.fraction() < 1);
    assert.notEqual(random.id(), random.id());
  });
});
