import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explore } from './explore.ts';
import { MUTATIONS } from './mutations.ts';
import type { Guard } from './rules.ts';

const named = (guards: readonly Guard[]): string =>
  guards.filter((guard) => guard !== 'swap in one step').join(' and ');

describe('a guard that is taken away', () => {
  for (const { without, start, violates, harmless = [] } of MUTATIONS) {
    it(`is missed: ${named(without)}`, (t) => {
      const found = explore(start, new Set(without));
      assert('violation' in found, 'no schedule violates anything');
      t.diagnostic([found.violation, ...found.trace].join('\n      '));
      assert.equal(found.violation, violates);
    });
    for (const guards of harmless.filter((some) => named(some) !== '')) {
      it(`is covered by the other one: ${named(guards)} of ${named(without)}`, () => {
        const found = explore(start, new Set(guards));
        assert(!('violation' in found), 'violation' in found ? found.violation : '');
      });
    }
  }

  it('is any of them', (t) => {
    const taken = new Set(MUTATIONS.flatMap(({ without }) => without));
    t.diagnostic(`in all: ${MUTATIONS.length} mutations of ${taken.size - 1} guards`);
    assert.deepEqual([...taken].toSorted(), [
      'alarms',
      'children in doubt',
      'compare-and-swap',
      'dirty before ack',
      'intent before create',
      'known dirt is not stored',
      'no ack of a redelivery',
      'no ack without lease',
      'no create of what exists',
      'nonce',
      'resourceVersion in child',
      'resourceVersion in status',
      'seen per object',
      'store time',
      'swap in one step',
      'token check at complete',
      'token per rerun',
    ]);
  });
});
