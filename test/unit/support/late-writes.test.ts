import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AcceptedWrite } from '../../support/audit-log.ts';
import { judge } from '../../support/late-writes.ts';
import type { LoggedClaim } from '../../support/logged-claims.ts';

const claims: readonly LoggedClaim[] = [
  { holderIdentity: 'r.1.a', item: 'default/web', token: 10, at: 1_000 },
  { holderIdentity: 'r.2.b', item: 'default/web', token: 20, at: 7_000 },
  { holderIdentity: 'r.2.c', item: 'default/other', token: 30, at: 8_000 },
];

describe('the judge of accepted writes', () => {
  it('I2: has nothing against writes in the order of their claims', () => {
    const writes = [write('r.1.a', 5, 1_010), write('r.1.a', 6, 1_020), write('r.2.b', 7, 7_010)];
    assert.deepEqual(judge(writes, claims), { overwrites: [], afterSteal: [], unknown: [] });
  });

  it('I2: finds a write of an earlier claim that took effect after one of a later', () => {
    const { overwrites } = judge([write('r.2.b', 7, 7_010), write('r.1.a', 8, 7_020)], claims);
    assert.deepEqual(overwrites, [
      'deployments default/web (version 8, 1970-01-01T00:00:07.020Z, token 10 of r.1.a) came after ' +
        'deployments default/web (version 7, 1970-01-01T00:00:07.010Z, token 20 of r.2.b)',
    ]);
  });

  it('I2: believes the versions, whatever the order in which the writes were received', () => {
    const received = [write('r.2.b', 8, 7_010), write('r.1.a', 7, 7_020)];
    assert.deepEqual(judge(received, claims).overwrites, []);
  });

  it('I2: finds a deletion under an earlier claim that was received when a later write had been answered', () => {
    const deletion = write('r.1.a', undefined, 7_050);
    assert.equal(judge([write('r.2.b', 7, 7_010), deletion], claims).overwrites.length, 1);
    assert.deepEqual(judge([write('r.2.b', 7, 7_049), deletion], claims).overwrites, [], 'they overlap');
  });

  it('I2: compares writes to one object only', () => {
    const writes = [write('r.2.b', 7, 7_010), { ...write('r.1.a', 8, 7_020), object: 'services default/web' }];
    assert.deepEqual(judge(writes, claims).overwrites, []);
  });

  it('I2: finds a write that came after its item was claimed by another, and says how late it was', () => {
    const { afterSteal, overwrites } = judge([write('r.1.a', 5, 6_900), write('r.1.a', 6, 7_060)], claims);
    assert.deepEqual(
      afterSteal.map(({ ms }) => ms),
      [60],
    );
    assert.deepEqual(overwrites, []);
  });

  it('I2: says which writes it knows nothing about', () => {
    const writes = [write('r.3.x', 5, 1_000), { ...write('', 6, 1_000), holderIdentity: undefined }];
    assert.deepEqual(judge(writes, claims).unknown, ['deployments default/web', 'deployments default/web']);
  });
});

/** A write that took 5 ms. */
function write(holderIdentity: string, version: number | undefined, receivedAt: number): AcceptedWrite {
  return { object: 'deployments default/web', holderIdentity, receivedAt, completedAt: receivedAt + 5, version };
}
