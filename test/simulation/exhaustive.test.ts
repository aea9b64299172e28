import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { effort } from './effort.ts';
import { explore } from './explore.ts';
import type { Guard } from './rules.ts';
import { settledWorld } from './starts.ts';
import { LARGE, SMALL } from './worlds.ts';

const count = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

describe('every schedule of a small world', () => {
  for (const world of effort().isNight ? [...SMALL, ...LARGE] : SMALL) {
    it(`I1 I2 I4 I6 R22: ends with all repaired, told and idle: ${world.name}`, (t) => {
      const found = explore(world.start);
      if ('violation' in found) assert.fail([found.violation, ...found.trace].join('\n  '));
      const { states, steps, schedules, depth, runs } = found;
      t.diagnostic(
        `${count.format(states)} states, ${count.format(steps)} steps, ${count.format(schedules)} schedules, longest ${depth}, most runs ${runs}`,
      );
      assert.equal(runs, world.runs);
    });
  }

  it('is explored no less when read, decide and swap are one step: the ends are the same', () => {
    const start = settledWorld({ specs: ['b'], drifts: 1, crashes: 1 });
    const split = explore(start, new Set<Guard>(['swap in one step']));
    const whole = explore(start);
    assert('ends' in split && 'ends' in whole);
    assert.deepEqual([split.ends, split.runs], [whole.ends, whole.runs]);
    assert(split.states > 2 * whole.states);
  });
});
