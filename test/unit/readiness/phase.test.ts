import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nextPhase, PHASES, TRANSITIONS } from '../../../shared/readiness/phase.ts';
import type { ReadinessState } from '../../../shared/readiness/readiness.ts';

const STATES: readonly ReadinessState[] = ['missing', 'unobserved', 'progressing', 'ready', 'failed'];

/** Every transition, once more by hand: what each phase becomes in each state, in the order of `STATES`. */
const EXPECTED = [
  ['Pending', 'Pending', 'Pending', 'Running', 'Ready', 'Failed'],
  ['Running', 'Running', 'Unknown', 'Running', 'Ready', 'Failed'],
  ['Ready', 'Running', 'Unknown', 'Running', 'Ready', 'Failed'],
  ['Failed', 'Running', 'Unknown', 'Running', 'Ready', 'Failed'],
  ['Unknown', 'Running', 'Unknown', 'Running', 'Ready', 'Failed'],
] as const;

describe('R7: the phase is a state machine', () => {
  for (const [from, ...to] of EXPECTED) {
    it(`goes from ${from} only where the table says`, () => {
      assert.deepEqual(
        STATES.map((state) => nextPhase(from, state)),
        to,
      );
    });
  }

  it('has no other phases and no other states', () => {
    assert.deepEqual(Object.keys(TRANSITIONS), [...PHASES]);
    for (const phase of PHASES) assert.deepEqual(Object.keys(TRANSITIONS[phase]).sort(), [...STATES].sort());
  });

  it('never returns to Pending', () => {
    for (const from of PHASES.filter((phase) => phase !== 'Pending')) {
      assert.equal(Object.values(TRANSITIONS[from]).includes('Pending'), false);
    }
  });

  it('is Ready if and only if all is ready', () => {
    for (const from of PHASES) {
      for (const state of STATES) assert.equal(nextPhase(from, state) === 'Ready', state === 'ready');
    }
  });

  it('settles: the same state twice changes nothing more', () => {
    for (const from of PHASES) {
      for (const state of STATES) {
        const once = nextPhase(from, state);
        assert.equal(nextPhase(once, state), once === 'Running' && state === 'unobserved' ? 'Unknown' : once);
      }
    }
  });

  it('starts Pending, and takes a phase of another build for Unknown', () => {
    assert.equal(nextPhase(undefined, 'missing'), 'Pending');
    assert.equal(nextPhase('Sleeping', 'unobserved'), 'Unknown');
    assert.equal(nextPhase('Sleeping', 'ready'), 'Ready');
  });
});
