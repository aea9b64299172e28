import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { effort } from './effort.ts';
import { explore } from './explore.ts';
import type { Explored } from './graph.ts';
import type { Guard } from './rules.ts';
import { settledWorld } from './starts.ts';

const count = new Intl.NumberFormat('en', { maximumSignificantDigits: 21 });
const power = (n: number): string => (n < 1e9 ? count.format(n) : n.toExponential(1).replace('e+', '·10^'));

describe('every schedule of a small world', () => {
  const explored: Explored[] = [];
  for (const world of effort().worlds) {
    it(`I1 I2 I4 I5 I6 R22: ends with all repaired, told and idle: ${world.name}`, (t) => {
      const found = explore(world.start);
      if ('violation' in found) assert.fail([found.violation, ...found.trace].join('\n  '));
      explored.push(found);
      const { states, steps, schedules, depth, runs } = found;
      const [s, p] = [count.format(states), count.format(steps)];
      t.diagnostic(`${s} states, ${p} steps, ${power(schedules)} traces, the longest ${depth} steps and ${runs} runs`);
      assert.equal(runs, world.runs);
    });
  }

  it('is counted', (t) => {
    const sum = (what: 'states' | 'steps' | 'schedules') => explored.reduce((all, one) => all + one[what], 0);
    const [worlds, states, steps] = [explored.length, sum('states'), sum('steps')].map((n) => count.format(n));
    t.diagnostic(`in all: ${worlds} worlds, ${states} states, ${steps} steps, ${power(sum('schedules'))} traces`);
    assert.equal(explored.length, effort().worlds.length);
  });

  it('is explored no less when read, decide and swap are one step: the ends are the same', () => {
    const start = settledWorld({ specs: ['b'], drifts: 1, crashes: 1 });
    const split = explore(start, new Set<Guard>(['swap in one step']));
    const whole = explore(start);
    assert('ends' in split && 'ends' in whole);
    assert.deepEqual([split.ends, split.runs], [whole.ends, whole.runs]);
    assert(split.states > 2 * whole.states);
  });
});
