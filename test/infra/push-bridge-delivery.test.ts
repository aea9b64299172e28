import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isTurnedAway, nextStep } from '../../infra/local/push-bridge/delivery.ts';

const policy = { minimumBackoffMs: 100, maximumBackoffMs: 1_000, maxDeliveryAttempts: 6 };
const times = (count: number) => ({ all: count, failed: count });
const { maxDeliveryAttempts: _, ...endless } = policy;

describe('the delivery policy', () => {
  for (const status of [102, 200, 201, 202, 204]) {
    it(`takes ${status} for an acknowledgement`, () => {
      assert.deepEqual(nextStep(policy, times(1), { kind: 'answered', status }), { kind: 'ack' });
    });
  }

  for (const status of [203, 206, 301, 400, 404, 429, 500, 503]) {
    it(`takes ${status} for a refusal`, () => {
      assert.deepEqual(nextStep(policy, times(1), { kind: 'answered', status }), { kind: 'retry', delayMs: 100 });
    });
  }

  for (const [attempt, step] of [
    [1, { kind: 'retry', delayMs: 100 }],
    [2, { kind: 'retry', delayMs: 200 }],
    [4, { kind: 'retry', delayMs: 800 }],
    [5, { kind: 'retry', delayMs: 1_000 }],
    [6, { kind: 'dead-letter' }],
    [7, { kind: 'dead-letter' }],
  ] as const) {
    it(`answers failure ${attempt} with ${step.kind}`, () => {
      assert.deepEqual(nextStep(policy, times(attempt), { kind: 'failed', code: 'ECONNREFUSED' }), step);
    });
  }

  it('R24: being turned away for lack of room brings a message no closer to the dead letter', () => {
    const turnedAway = { kind: 'answered', status: 429 } as const;
    assert.equal(isTurnedAway(turnedAway), true);
    assert.equal(isTurnedAway({ kind: 'answered', status: 503 }), false);
    assert.deepEqual(nextStep(policy, { all: 50, failed: 0 }, turnedAway), { kind: 'retry', delayMs: 1_000 });
  });

  it('retries for ever, never slower than the maximum, without a dead letter', () => {
    assert.deepEqual(nextStep(endless, times(5_000), { kind: 'answered', status: 500 }), {
      kind: 'retry',
      delayMs: 1_000,
    });
  });

  it('acknowledges what is accepted at the last attempt', () => {
    assert.deepEqual(nextStep(policy, times(6), { kind: 'answered', status: 204 }), { kind: 'ack' });
  });
});
