import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Pace } from '../../../shared/queue/pace.ts';

/** How many go between two times, asked at each step. */
function countOf(pace: Pace, fromMs: number, toMs: number, stepMs: number): number {
  let count = 0;
  for (let nowMs = fromMs; nowMs <= toMs; nowMs += stepMs) {
    for (; pace.nextAt <= nowMs; count += 1) pace.spend(nowMs);
  }
  return count;
}

describe('pace', () => {
  it('lets as many go as the rate says, and a tenth of a second of them after a pause', () => {
    const pace = new Pace(500);
    assert.equal(countOf(pace, 0, 0, 1), 51);
    assert.equal(countOf(pace, 1, 1_000, 1), 500);
    assert.equal(countOf(pace, 60_000, 60_000, 1), 51);
  });

  it('keeps to its rate when it is asked late', () => {
    const pace = new Pace(500);
    countOf(pace, 0, 0, 1);
    assert.equal(countOf(pace, 15, 1_000, 15), 495);
  });

  it('rests', () => {
    const pace = new Pace(500);
    pace.rest(1_000, 0);
    assert.equal(countOf(pace, 0, 999, 1), 0);
    assert.equal(countOf(pace, 1_000, 1_000, 1), 1);
  });

  it('R2: gives each its turn: a hundred at once, then ten a second', () => {
    const pace = new Pace(10, 10_000);
    const turns = Array.from({ length: 130 }, () => pace.reserve(0));
    assert.deepEqual(turns.slice(0, 101), Array(101).fill(0));
    assert.deepEqual(
      turns.slice(101).map((ms) => Math.round(ms)),
      Array.from({ length: 29 }, (_, n) => (n + 1) * 100),
    );
  });

  it('makes up for as much as it is told, and says when it has made up for all', () => {
    const pace = new Pace(50, 1_000);
    assert.equal(pace.isRested(0), true);
    assert.equal(countOf(pace, 0, 0, 1), 51);
    assert.equal(pace.isRested(1_019), false);
    assert.equal(pace.isRested(1_020), true);
    assert.equal(countOf(pace, 1_020, 1_020, 1), 51);
  });
});
