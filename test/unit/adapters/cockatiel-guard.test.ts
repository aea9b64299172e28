import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { createGuard } from '../../../shared/adapters/cockatiel/guard.ts';
import { ConflictError, LeaseLostError, OperatorError, TransientError } from '../../../shared/errors.ts';
import { ApiError } from '../../../shared/kube/api-error.ts';

const NAME = 'API server';
const forever = new AbortController().signal;

describe('the guard', () => {
  describe('deadline', () => {
    it('R1: a call that takes too long is stopped and refused as TIMEOUT', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 20 });
      let stopped = false;
      const call = (signal: AbortSignal) => hang(signal).finally(() => (stopped = true));
      await assert.rejects(guard(call, forever), {
        code: 'TIMEOUT',
        message: 'API server did not answer within 20 ms',
      });
      assert.equal(stopped, true);
    });

    it('covers the wait for a slot', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 30, bulkhead: { concurrency: 1, queue: 1 } });
      const slot = Promise.withResolvers<string>();
      const stubborn = guard(() => slot.promise, forever);
      await assert.rejects(guard(answer, forever), hasCode('TIMEOUT'));
      slot.resolve('late');
      assert.equal(await stubborn, 'late');
    });

    it('covers the pauses between attempts; then the last error says what was wrong', async () => {
      const guard = createGuard({
        name: NAME,
        timeoutMs: 30,
        retry: { maxAttempts: 9, initialDelayMs: 60_000, maxDelayMs: 60_000 },
      });
      await assert.rejects(guard(failing(new TransientError('RESET', 'reset')), forever), hasCode('RESET'));
    });
  });

  describe('abort', () => {
    it('ends a running call with the reason, once the call has stopped', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 10_000 });
      const stop = new AbortController();
      const reason = new TransientError('LEASE', 'lease lost');
      const call = guard(hang, stop.signal);
      stop.abort(reason);
      await assert.rejects(call, (error) => error === reason);
    });

    it('ends at once what waits for a slot', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 10_000, bulkhead: { concurrency: 1, queue: 1 } });
      const slot = Promise.withResolvers<void>();
      const holder = guard(() => slot.promise, forever);
      const stop = new AbortController();
      const waiting = guard(answer, stop.signal);
      stop.abort(new Error('enough'));
      await assert.rejects(waiting, { message: 'enough' });
      slot.resolve();
      await holder;
    });

    it('never calls when it came first', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 10_000 });
      await assert.rejects(
        guard(() => assert.fail('called'), AbortSignal.abort(new Error('enough'))),
        { message: 'enough' },
      );
    });

    it('leaves no listener on a signal that outlives its calls', async () => {
      const guard = createGuard({
        name: NAME,
        timeoutMs: 10_000,
        retry: { maxAttempts: 1, initialDelayMs: 1, maxDelayMs: 1 },
        breaker: { failures: 100, halfOpenAfterMs: 1 },
        bulkhead: { concurrency: 2, queue: 20 },
      });
      const { signal } = new AbortController();
      const calls = Array.from({ length: 20 }, (_, i) =>
        guard(i % 2 ? answer : failing(new TransientError('X', 'x')), signal),
      );
      await Promise.allSettled(calls);
      assert.equal(getEventListeners(signal, 'abort').length, 0);
    });
  });

  describe('retry', () => {
    const retry = { maxAttempts: 2, initialDelayMs: 1, maxDelayMs: 20 };

    it('R2: tries again what is transient, so often and no more', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 10_000, retry });
      const twice = counted(failing(new TransientError('RESET', 'reset'), 2));
      assert.equal(await guard(twice.call, forever), 'answer');
      assert.equal(twice.count(), 3);
      const always = counted(failing(new TransientError('RESET', 'reset')));
      await assert.rejects(guard(always.call, forever), hasCode('RESET'));
      assert.equal(always.count(), 3);
    });

    it('waits as long as the server asks, when that is short, and hands it on when it is long', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 10_000, retry });
      const soon = counted(failing(refusal(429, { retryAfterMs: 5 }), 1));
      assert.equal(await guard(soon.call, forever), 'answer');
      const late = counted(failing(refusal(429, { retryAfterMs: 30_000 })));
      await assert.rejects(guard(late.call, forever), ApiError);
      assert.equal(late.count(), 1);
    });

    for (const [what, error] of [
      ['a conflict, which has to look again', new ConflictError('moved')],
      ['not found', refusal(404)],
      ['invalid', refusal(422)],
      ['a server error without a delay', refusal(500, { reason: 'InternalError' })],
      ['a defect', new TypeError('x is undefined')],
    ] as const) {
      it(`does not try again: ${what}`, async () => {
        const guard = createGuard({ name: NAME, timeoutMs: 10_000, retry });
        const call = counted(failing(error));
        await assert.rejects(guard(call.call, forever), (thrown) => thrown === error);
        assert.equal(call.count(), 1);
      });
    }
  });

  describe('breaker', () => {
    const breaker = { failures: 2, halfOpenAfterMs: 1_000 };
    const guarded = (t: TestContext) => {
      t.mock.timers.enable({ apis: ['Date'] });
      const states: string[] = [];
      const guard = createGuard({ name: NAME, timeoutMs: 20, breaker, onStateChange: (state) => states.push(state) });
      return { guard, states, wait: (ms: number) => t.mock.timers.tick(ms) };
    };

    it('R25: opens after failures in a row, and then asks nobody', async (t) => {
      const { guard, states } = guarded(t);
      await assert.rejects(guard(failing(refusal(503)), forever), ApiError);
      await assert.rejects(guard(hang, forever), hasCode('TIMEOUT'));
      await assert.rejects(
        guard(() => assert.fail('called'), forever),
        hasCode('CIRCUIT_OPEN'),
      );
      assert.deepEqual(states, ['open']);
    });

    it('lets one call try after a while, and closes when it is answered', async (t) => {
      const { guard, states, wait } = guarded(t);
      await fail(guard, 2);
      wait(1_001);
      assert.equal(await guard(answer, forever), 'answer');
      assert.deepEqual(states, ['open', 'half-open', 'closed']);
    });

    it('opens again when that call fails, or is given up before it knows', async (t) => {
      const { guard, states, wait } = guarded(t);
      await fail(guard, 2);
      wait(1_001);
      await fail(guard, 1);
      wait(1_001);
      const stop = new AbortController();
      const probe = guard(hang, stop.signal);
      stop.abort(new Error('enough'));
      await assert.rejects(probe, { message: 'enough' });
      assert.deepEqual(states, ['open', 'half-open', 'open', 'half-open', 'open']);
    });

    it('learns nothing from a call that was not sent because its lease was over', async (t) => {
      const { guard, states, wait } = guarded(t);
      const unsent = failing(new LeaseLostError('over'));
      await fail(guard, 1);
      await assert.rejects(guard(unsent, forever), LeaseLostError);
      await fail(guard, 1);
      wait(1_001);
      await assert.rejects(guard(unsent, forever), LeaseLostError);
      assert.deepEqual(states, ['open', 'half-open', 'open']);
    });

    for (const [what, error] of [
      ['not found', refusal(404)],
      ['a conflict', new ConflictError('moved')],
      ['invalid', refusal(422)],
      ['an unknown field, which comes as a 500', refusal(500)],
      ['too many requests', refusal(429, { retryAfterMs: 1_000 })],
    ] as const) {
      it(`a refusal is an answer, and ends a row of failures: ${what}`, async (t) => {
        const { guard, states } = guarded(t);
        for (let i = 0; i < 5; i++) {
          await fail(guard, 1);
          await assert.rejects(guard(failing(error), forever), (thrown) => thrown === error);
        }
        assert.deepEqual(states, []);
      });
    }
  });

  describe('bulkhead', () => {
    it('R21: runs so many at once, queues so many, and refuses the rest as OVERLOADED', async () => {
      const guard = createGuard({ name: NAME, timeoutMs: 10_000, bulkhead: { concurrency: 2, queue: 1 } });
      const gate = Promise.withResolvers<void>();
      let running = 0;
      const call = async () => {
        running += 1;
        await gate.promise;
      };
      const calls = [guard(call, forever), guard(call, forever), guard(call, forever)];
      await assert.rejects(guard(call, forever), hasCode('OVERLOADED'));
      assert.equal(running, 2);
      gate.resolve();
      await Promise.all(calls);
      assert.equal(running, 3);
    });
  });
});

type Call = (signal: AbortSignal) => Promise<string>;

const answer: Call = async () => 'answer';

/** Ends only with its signal, as a request does. */
function hang(signal: AbortSignal): Promise<string> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

function failing(error: Error, times = Number.POSITIVE_INFINITY): Call {
  let failed = 0;
  return async () => {
    if (failed++ < times) throw error;
    return 'answer';
  };
}

function counted(call: Call): { readonly call: Call; readonly count: () => number } {
  let count = 0;
  return {
    call: (signal) => {
      count += 1;
      return call(signal);
    },
    count: () => count,
  };
}

async function fail(guard: ReturnType<typeof createGuard>, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await assert.rejects(guard(failing(new TransientError('RESET', 'reset')), forever));
}

function refusal(code: number, more: { readonly reason?: string; readonly retryAfterMs?: number } = {}): ApiError {
  return new ApiError('get', { code, reason: '', message: '', causes: [], ...more });
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof OperatorError && error.code === code;
}
