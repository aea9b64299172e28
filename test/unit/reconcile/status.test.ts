import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { statusPatch } from '../../../shared/reconcile/status.ts';
import { widget } from '../../support/objects.ts';

const ready = { type: 'Ready', status: 'True', reason: 'AllThere', message: 'All is there.' } as const;
const NOON = Date.UTC(2026, 0, 1, 12);

describe('statusPatch', () => {
  it('R6: gives a new condition its generation and the time of its first transition', () => {
    assert.deepEqual(
      statusPatch(widget({ generation: 4 }), { status: { phase: 'Ready' }, conditions: [ready] }, NOON),
      {
        phase: 'Ready',
        conditions: [{ ...ready, observedGeneration: 4, lastTransitionTime: '2026-01-01T12:00:00Z' }],
        observedGeneration: 4,
      },
    );
  });

  it('R5: is undefined when the status is right, whatever the time', () => {
    const conditions = [{ ...ready, observedGeneration: 1, lastTransitionTime: '2020-01-01T00:00:00Z' }];
    const object = { ...widget(), status: { phase: 'Ready', conditions, observedGeneration: 1, foreign: 'kept' } };
    assert.equal(statusPatch(object, { status: { phase: 'Ready' }, conditions: [ready] }, NOON), undefined);
  });

  it('R6: moves lastTransitionTime only when the status of a condition moves', () => {
    const conditions = [
      { ...ready, message: 'Before.', observedGeneration: 1, lastTransitionTime: '2020-01-01T00:00:00Z' },
    ];
    const object = { ...widget(), status: { conditions, observedGeneration: 1 } };
    assert.deepEqual(statusPatch(object, { status: {}, conditions: [ready] }, NOON), {
      conditions: [{ ...ready, observedGeneration: 1, lastTransitionTime: '2020-01-01T00:00:00Z' }],
    });
    assert.deepEqual(statusPatch(object, { status: {}, conditions: [{ ...ready, status: 'False' }] }, NOON), {
      conditions: [{ ...ready, status: 'False', observedGeneration: 1, lastTransitionTime: '2026-01-01T12:00:00Z' }],
    });
  });

  it('keeps the conditions of others, and drops its own abnormal ones once they are over', () => {
    const foreign = {
      type: 'Paid',
      status: 'True',
      reason: 'R',
      message: 'm',
      lastTransitionTime: '2020-01-01T00:00:00Z',
    };
    const stalled = { ...foreign, type: 'Stalled' };
    const right = { ...ready, observedGeneration: 1, lastTransitionTime: '2020-01-01T00:00:00Z' };
    const object = { ...widget(), status: { conditions: [foreign, stalled, right], observedGeneration: 1 } };
    assert.deepEqual(statusPatch(object, { status: {}, conditions: [ready] }, NOON), { conditions: [foreign, right] });
  });
});
