import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { answer } from '../../../shared/queue/answer.ts';
import { release } from '../../../shared/queue/release.ts';
import { child, doorbell, heldItem, news, versions } from '../../support/work-items.ts';

const claimant = { holderIdentity: 'worker-2', messageId: 'm2', leaseDurationMs: 6_000 };

describe('release', () => {
  const held = heldItem({
    dirty: { kind: 'versions', versions: versions('a@9') },
    failures: 2,
    unfinished: { uid: 'a', generation: 3, claims: 2 },
    children: [child('web', 'c')],
  });
  const released = release(held, 2_000);

  it('frees the item and makes its alarm due, without counting a failure or a lost holder', () => {
    assert.equal(released.lease, null);
    assert.deepEqual(released.alarm, { wakeAt: 2_000, reason: 'handover' });
    assert.equal(released.failures, 2);
    assert.deepEqual(released.unfinished, { uid: 'a', generation: 3, claims: 1 });
    assert.equal(released.token, 7);
  });

  it('I1: is claimed by the alarm, by the message of the run, and by whatever it knew to be dirty', () => {
    for (const bell of [doorbell({ kind: 'alarm' }), doorbell(news('a@8')), doorbell(news('a@9'))]) {
      const decision = answer(released, bell, claimant, { nowMs: 2_001, fraction: 0 });
      assert(decision.kind === 'claim');
      assert.equal(decision.item.token, 2_001_000);
    }
  });

  it('R22: has the next claimant keep its holder out, in strict mode', () => {
    assert.deepEqual(released.unfenced, ['worker-1']);
  });

  it('R8: has the next run look for children whose creation may still be under way', () => {
    assert.deepEqual(released.children, [{ ...child('web', 'c'), mayReturn: true }]);
  });
});
