import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { refillMs, take, tokensIn } from '../../../shared/queue/bucket.ts';
import type { Bucket } from '../../../shared/queue/work-item.ts';

const NOW = 1_767_225_600_123.456;

describe('the bucket of runs', () => {
  for (const [claim, bucket, at, expected] of [
    ['is full while nothing was taken', null, NOW, { kind: 'taken', bucket: { tokens: 99, updatedAt: NOW } }],
    [
      'R2: is empty after a hundred, and has the next run a second after the last',
      { tokens: 0, updatedAt: NOW },
      NOW + 999,
      { kind: 'empty', tokenAt: NOW + 1_000 },
    ],
    [
      'R2: fills by one each second',
      { tokens: 0, updatedAt: NOW },
      NOW + 2_500,
      { kind: 'taken', bucket: { tokens: 1.5, updatedAt: NOW + 2_500 } },
    ],
    [
      'never holds more than a hundred',
      { tokens: 98, updatedAt: NOW },
      NOW + 3_600_000,
      { kind: 'taken', bucket: { tokens: 99, updatedAt: NOW + 3_600_000 } },
    ],
    [
      'takes no notice of a time that seems to go back',
      { tokens: 5, updatedAt: NOW },
      NOW - 10,
      { kind: 'taken', bucket: { tokens: 4, updatedAt: NOW } },
    ],
  ] as const) {
    it(claim, () => {
      assert.deepEqual(take(bucket, at), expected);
    });
  }

  it('R2: gives a hundred runs at once and one per second after that, however often it is asked', () => {
    let bucket: Bucket | null = null;
    let runs = 0;
    for (let ms = 0; ms < 60_000; ms += 7) {
      const taking = take(bucket, ms);
      if (taking.kind === 'empty') continue;
      bucket = taking.bucket;
      runs += 1;
    }
    assert.equal(runs, 159);
  });

  it('has a run exactly when it said, whatever fractions it holds: no alarm rings in vain', () => {
    const fraction = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fraction, fc.double({ min: 1.6e12, max: 2e12, noNaN: true }), (tokens, updatedAt) => {
        const early = take({ tokens, updatedAt }, updatedAt);
        if (early.kind === 'taken') return;
        assert.equal(take({ tokens, updatedAt }, early.tokenAt).kind, 'taken');
      }),
    );
  });

  it('says how much is in it, and how long until there is more', () => {
    assert.equal(tokensIn(null, NOW), 100);
    assert.equal(tokensIn({ tokens: 3, updatedAt: 1_000 }, 2_500), 4.5);
    assert.equal(refillMs({ tokens: 3, updatedAt: 1_000 }, 10, 2_000), 6_000);
    assert.equal(refillMs({ tokens: 30, updatedAt: 1_000 }, 10, 2_000), 0);
  });
});
