import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { backoffMs, retryDelayMs } from '../../../shared/queue/backoff.ts';

describe('backoff', () => {
  for (const [failures, from, to] of [
    [1, 5, 10],
    [2, 10, 20],
    [5, 80, 160],
    [15, 81_920, 163_840],
    [16, 150_000, 300_000],
    [5_000, 150_000, 300_000],
  ] as const) {
    it(`R2: waits ${from} to ${to} ms after failure ${failures}`, () => {
      assert.equal(backoffMs(failures, 0), from);
      assert.equal(backoffMs(failures, 1), to);
    });
  }

  it('waits exactly as long as the server said, jitter and cap aside', () => {
    assert.equal(retryDelayMs({ kind: 'after', delayMs: 3_600_000 }, 1, 0.7, 0), 3_600_000);
    assert.equal(retryDelayMs({ kind: 'backoff' }, 1, 0.5, 0), 7.5);
  });

  it('R2: waits for its turn when much else failed, five minutes at most, but not longer than the server said', () => {
    assert.equal(retryDelayMs({ kind: 'backoff' }, 1, 0.5, 2_500), 2_500);
    assert.equal(retryDelayMs({ kind: 'backoff' }, 1, 0.5, 1_000_000), 300_000);
    assert.equal(retryDelayMs({ kind: 'after', delayMs: 1_000 }, 1, 0.5, 2_500), 1_000);
  });
});
