import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Doorbell } from '../../../shared/message/doorbell.ts';
import { answer } from '../../../shared/queue/answer.ts';
import type { WorkItem } from '../../../shared/queue/work-item.ts';
import { child, doorbell, heldItem, news, seen, versions, workItem } from '../../support/work-items.ts';

const CLAIMANT = { holderIdentity: 'worker-2', messageId: 'm2', leaseDurationMs: 6_000 };
const NOW = 5_000;
const REF = { group: 'apps', kind: 'Deployment', namespace: 'default', name: 'web' };
const AT_NOW = { nowMs: NOW, fraction: 0.5 };

const ask = (item: WorkItem | undefined, ring: Doorbell, nowMs = NOW) =>
  answer(item, ring, CLAIMANT, { nowMs, fraction: 0.5 });

describe('a doorbell for an item on which nobody works', () => {
  it('claims an item that does not exist, under a token made of the store’s time', () => {
    const decision = ask(undefined, doorbell(news('a@1')), 1_767_225_600_123.457);
    assert(decision.kind === 'claim');
    assert.deepEqual(
      decision.item,
      workItem({
        token: 1_767_225_600_123_457,
        lease: { ...CLAIMANT, token: 1_767_225_600_123_457, renewTime: 1_767_225_600_123.457 },
        alarm: { wakeAt: 1_767_225_606_123.457, reason: 'lease' },
        bucket: { tokens: 99, updatedAt: 1_767_225_600_123.457 },
        unfinished: { uid: null, generation: null, claims: 1 },
      }),
    );
  });

  it('claims an idle item for news, and wakes when the lease would end, so that losing every message loses no work', () => {
    const decision = ask(workItem({ uid: 'a', seen: seen({ versions: { a: '1' } }) }), doorbell(news('a@2')));
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.alarm, { wakeAt: 11_000, reason: 'lease' });
  });

  it('R8: takes over from a holder that never completed with every child in doubt: it may be created yet', () => {
    const item = heldItem({ children: [child('web', 'b'), child('other', null)] });
    const decision = ask(item, doorbell({ kind: 'alarm' }), 7_000);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.children, [
      { ...child('web', 'b'), mayReturn: true },
      { ...child('other', null), mayReturn: true },
    ]);
  });

  it('gives a token above the last one, also when that is ahead of the time', () => {
    const decision = ask(workItem({ token: 9_000_000_000 }), doorbell({ kind: 'unknown' }));
    assert(decision.kind === 'claim');
    assert.equal(decision.item.token, 9_000_000_001);
    assert.equal(decision.item.lease.token, 9_000_000_001);
  });

  it('gives neighbouring microseconds different tokens, in spite of fractions that are not exact', () => {
    const tokens = Array.from({ length: 1000 }, (_, micro) => {
      const decision = ask(undefined, doorbell({ kind: 'unknown' }), (1_767_225_600_000_000 + micro) / 1000);
      return decision.kind === 'claim' ? decision.item.token : 0;
    });
    assert.deepEqual(
      tokens,
      Array.from({ length: 1000 }, (_, micro) => 1_767_225_600_000_000 + micro),
    );
  });

  it('I3: changes nothing when there is no news', () => {
    const item = workItem({ uid: 'a', seen: seen({ versions: { a: '2' } }) });
    assert.deepEqual(ask(item, doorbell(news('a@2'))), { kind: 'no-news' });
  });

  it('P51: claims for an alarm that is due, and not for one that is not', () => {
    const due = workItem({ alarm: { wakeAt: NOW, reason: 'requeue' } });
    const early = workItem({ alarm: { wakeAt: NOW + 1, reason: 'requeue' } });
    assert.equal(ask(due, doorbell({ kind: 'alarm' })).kind, 'claim');
    assert.equal(ask(early, doorbell({ kind: 'alarm' })).kind, 'no-news');
  });

  it('claims an item that is backing off as soon as something changes, and goes on counting its failures', () => {
    const item = workItem({
      uid: 'a',
      failures: 4,
      alarm: { wakeAt: NOW + 60_000, reason: 'backoff' },
      seen: seen({ generation: 2, versions: { a: '9', b: '5' } }),
    });
    const byChild = ask(item, doorbell(news('b@6')));
    assert(byChild.kind === 'claim');
    assert.equal(byChild.item.failures, 4);
    const bySpec = ask(item, doorbell(news('a@10'), { uid: 'a', generation: 3 }));
    assert(bySpec.kind === 'claim');
    assert.equal(bySpec.item.failures, 0);
    assert.equal(ask(item, doorbell(news('b@5'))).kind, 'no-news');
    assert.equal(ask(item, doorbell({ kind: 'alarm' })).kind, 'no-news');
  });
});

describe('a doorbell for an item that is held', () => {
  it('P43: leaves news with the holder', () => {
    const decision = ask(heldItem(), doorbell(news('a@2')));
    assert.deepEqual(decision, {
      kind: 'dirty',
      item: heldItem({ dirty: { kind: 'versions', versions: versions('a@2') } }),
    });
  });

  it('keeps the newest of each object', () => {
    const item = heldItem({ dirty: { kind: 'versions', versions: versions('a@2', 'b@5') } });
    const decision = ask(item, doorbell(news('a@3', 'b@4')));
    assert(decision.kind === 'dirty');
    assert.deepEqual(decision.item.dirty, { kind: 'versions', versions: versions('b@5', 'a@3') });
  });

  it('writes nothing when the holder knows already', () => {
    const some = heldItem({ dirty: { kind: 'versions', versions: versions('a@2') } });
    assert.deepEqual(ask(some, doorbell(news('a@2'))), { kind: 'already-dirty' });
    assert.deepEqual(ask(some, doorbell(news('a@1'))), { kind: 'already-dirty' });
    const all = heldItem({ dirty: { kind: 'unknown' } });
    assert.deepEqual(ask(all, doorbell(news('a@9'))), { kind: 'already-dirty' });
    assert.deepEqual(ask(all, doorbell({ kind: 'unknown' })), { kind: 'already-dirty' });
  });

  it('P48: remembers 16 versions, and then only that there was something', () => {
    const sixteen = versions(...Array.from({ length: 16 }, (_, n) => `u${n}@1`));
    const item = heldItem({ dirty: { kind: 'versions', versions: sixteen } });
    assert.equal(ask(item, doorbell(news('u3@1'))).kind, 'already-dirty');
    const newer = ask(item, doorbell(news('u3@2')));
    assert(newer.kind === 'dirty' && newer.item.dirty.kind === 'versions');
    assert.equal(newer.item.dirty.versions.length, 16);
    const more = ask(item, doorbell(news('u16@1')));
    assert(more.kind === 'dirty');
    assert.deepEqual(more.item.dirty, { kind: 'unknown' });
  });

  it('P22: takes a child that a census misses as something that cannot be struck out', () => {
    const item = heldItem({ uid: 'a', seen: seen({ versions: { a: '1', b: '1' } }), children: [child('web', 'b')] });
    const decision = ask(item, doorbell({ kind: 'census', versions: versions('a@1') }));
    assert(decision.kind === 'dirty');
    assert.deepEqual(decision.item.dirty, { kind: 'unknown' });
  });

  it('drops what earlier runs have seen, and alarms', () => {
    const item = heldItem({ seen: seen({ versions: { a: '2' } }) });
    assert.deepEqual(ask(item, doorbell(news('a@2'))), { kind: 'no-news' });
    assert.deepEqual(ask(item, doorbell({ kind: 'alarm' })), { kind: 'no-news' });
  });

  it('keeps the message that the holder works for, which may die yet', () => {
    const again = { ...CLAIMANT, messageId: 'm1' };
    assert.deepEqual(answer(heldItem(), doorbell(news('a@2')), again, { nowMs: 6_999.999, fraction: 0.5 }), {
      kind: 'redelivered',
    });
  });

  it('takes its own claim when the reply to it got lost, with what arrived since', () => {
    const item = heldItem({ dirty: { kind: 'versions', versions: versions('a@2') } });
    const decision = answer(item, doorbell(news('a@1')), { ...CLAIMANT, holderIdentity: 'worker-1' }, AT_NOW);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.lease, { ...item.lease, renewTime: NOW });
    assert.deepEqual(decision.item.dirty, item.dirty);
  });

  it('P46: takes over when the lease has ended by the store’s time, with or without news', () => {
    const item = heldItem({
      seen: seen({ versions: { a: '2' } }),
      dirty: { kind: 'versions', versions: versions('a@3') },
    });
    for (const ring of [doorbell(news('a@2')), doorbell({ kind: 'alarm' })]) {
      assert.notEqual(ask(item, ring, 6_999.999).kind, 'claim');
      const decision = ask(item, ring, 7_000);
      assert(decision.kind === 'claim');
      assert.deepEqual(decision.item.lease, { ...CLAIMANT, token: 7_000_000, renewTime: 7_000 });
      assert.deepEqual(decision.item.dirty, { kind: 'clean' });
    }
  });

  it('P46: believes the duration that the holder has stored, not its own', () => {
    const item = heldItem();
    const patient = { ...item, lease: { ...item.lease, leaseDurationMs: 60_000 } };
    assert.equal(ask(patient, doorbell(news('a@2')), 60_999).kind, 'dirty');
    assert.equal(ask(patient, doorbell(news('a@2')), 61_000).kind, 'claim');
  });
});

describe('a doorbell for an item in quarantine', () => {
  const stopped = workItem({
    uid: 'a',
    failures: 3,
    quarantine: { reason: 'INVALID_SPEC', generation: 4 },
    seen: seen({ generation: 4, versions: { a: '9' }, gone: ['old'] }),
  });

  for (const [claim, ring, kind] of [
    ['P37: stays while the generation does', doorbell(news('a@10'), { uid: 'a', generation: 4 }), 'quarantined'],
    ['stays for the news of a child', doorbell(news('b@1')), 'quarantined'],
    ['stays for an alarm', doorbell({ kind: 'alarm' }), 'quarantined'],
    [
      'stays for a late message of an earlier generation',
      doorbell(news('a@8'), { uid: 'a', generation: 3 }),
      'quarantined',
    ],
    [
      'stays for a late message of an object that is gone',
      doorbell(news('old@8'), { uid: 'old', generation: 9 }),
      'quarantined',
    ],
    ['R13: ends with a new generation', doorbell(news('a@10'), { uid: 'a', generation: 5 }), 'claim'],
    ['ends when the object is deleted', doorbell(news('a@12'), { uid: 'a', deleted: true }), 'claim'],
    [
      'stays for the late end of an object that is gone',
      doorbell(news('old@9'), { uid: 'old', deleted: true }),
      'quarantined',
    ],
    ['ends when the object is recreated', doorbell(news('new@11'), { uid: 'new', generation: 1 }), 'claim'],
  ] as const) {
    it(claim, () => {
      assert.equal(ask(stopped, ring).kind, kind);
    });
  }

  it('forgets failures with the quarantine', () => {
    const decision = ask(stopped, doorbell(news('a@10'), { uid: 'a', generation: 5 }));
    assert(decision.kind === 'claim');
    assert.equal(decision.item.quarantine, null);
    assert.equal(decision.item.failures, 0);
  });
});

describe('a doorbell for an object that has no run left', () => {
  const empty = { tokens: 0.25, updatedAt: 4_800 };
  const spent = workItem({ uid: 'a', bucket: empty, seen: seen({ generation: 2, versions: { a: '9' } }) });

  it('R2: waits for the next run, as an alarm', () => {
    assert.deepEqual(ask(spent, doorbell(news('a@10'))), {
      kind: 'throttled',
      item: { ...spent, alarm: { wakeAt: 5_550, reason: 'throttled' } },
    });
  });

  it('writes nothing when the alarm is set already', () => {
    const waiting = { ...spent, alarm: { wakeAt: 5_550, reason: 'throttled' } } as const;
    assert.deepEqual(ask(waiting, doorbell(news('a@11'), { uid: 'a', generation: 3 })), { kind: 'already-throttled' });
  });

  it('keeps an alarm that comes earlier, and none that is due, which would ring all the time', () => {
    const early = { ...spent, alarm: { wakeAt: 5_001, reason: 'requeue' } } as const;
    assert.deepEqual(ask(early, doorbell(news('a@10'))), { kind: 'already-throttled' });
    for (const wakeAt of [NOW, NOW + 60_000]) {
      const decision = ask({ ...spent, alarm: { wakeAt, reason: 'requeue' } }, doorbell(news('a@10')));
      assert(decision.kind === 'throttled');
      assert.deepEqual(decision.item.alarm, { wakeAt: 5_550, reason: 'throttled' });
    }
  });

  it('claims for the alarm at the moment for which it was set', () => {
    const waiting = { ...spent, alarm: { wakeAt: 5_550, reason: 'throttled' } } as const;
    assert.equal(ask(waiting, doorbell({ kind: 'alarm' }), 5_549).kind, 'no-news');
    const decision = ask(waiting, doorbell({ kind: 'alarm' }), 5_550);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.bucket, { tokens: 0, updatedAt: 5_550 });
  });

  it('I3: does not even wait when there is no news', () => {
    assert.deepEqual(ask(spent, doorbell(news('a@9'))), { kind: 'no-news' });
  });

  it('a new generation waits, too, but not with the failures or the quarantine of the old one', () => {
    const stopped = { ...spent, failures: 4, quarantine: { reason: 'INVALID_SPEC', generation: 2 } };
    const decision = ask(stopped, doorbell(news('a@10'), { uid: 'a', generation: 3 }));
    assert(decision.kind === 'throttled');
    assert.equal(decision.item.quarantine, null);
    assert.equal(decision.item.failures, 0);
  });

  it('takes the lease of a dead holder from it, and leaves the item to the alarm', () => {
    const abandoned = heldItem({ bucket: { tokens: 0.5, updatedAt: 7_000 }, dirty: { kind: 'unknown' } });
    const decision = ask(abandoned, doorbell({ kind: 'alarm' }), 7_000);
    assert(decision.kind === 'throttled');
    assert.equal(decision.item.lease, null);
    assert.deepEqual(decision.item.alarm, { wakeAt: 7_500, reason: 'throttled' });
  });
});

describe('an object whose holders die', () => {
  const unfinished = (claims: number) => ({ uid: 'a', generation: 3, claims });
  /** Held for the n-th time without a completed run; the lease ends at 7000. */
  const held = (claims: number, failures = claims - 1) =>
    heldItem({
      uid: 'a',
      unfinished: unfinished(claims),
      failures,
      seen: seen({ generation: 2, versions: { a: '1' } }),
    });

  it('P46: is claimed at once the first four times, each of which counts as a failure', () => {
    for (const claims of [1, 2, 3, 4]) {
      const decision = ask(held(claims), doorbell({ kind: 'alarm' }), 7_000);
      assert(decision.kind === 'claim');
      assert.equal(decision.item.failures, claims);
      assert.deepEqual(decision.item.unfinished, unfinished(claims + 1));
      assert.deepEqual(decision.item.lastError, {
        code: 'HOLDER_LOST',
        message: 'worker-1 died during the run, or overslept its lease',
      });
    }
  });

  it('P46: is claimed at once however often it failed otherwise: a killed process is no fault of the object', () => {
    assert.equal(ask(held(1, 30), doorbell({ kind: 'alarm' }), 7_000).kind, 'claim');
  });

  it('R2: backs off from the fifth in a row on, like any other failure', () => {
    for (const [claims, wakeAt] of [
      [5, 7_120],
      [10, 10_840],
      [50, 232_000],
    ] as const) {
      const decision = ask(held(claims), doorbell({ kind: 'alarm' }), 7_000);
      assert(decision.kind === 'backing-off');
      assert.equal(decision.item.lease, null);
      assert.equal(decision.item.failures, claims);
      assert.deepEqual(decision.item.alarm, { wakeAt, reason: 'backoff' });
    }
  });

  const waiting = workItem({
    uid: 'a',
    failures: 12,
    unfinished: unfinished(12),
    alarm: { wakeAt: NOW + 20_000, reason: 'backoff' },
    seen: seen({ generation: 2, versions: { a: '1' } }),
  });

  it('R2: is not claimed any earlier by news, by the message of a dead holder, or by somebody who asks', () => {
    for (const ring of [
      doorbell(news('b@6')),
      doorbell(news('a@9'), { uid: 'a', generation: 3 }),
      doorbell({ kind: 'unknown' }),
      doorbell({ kind: 'alarm' }),
    ]) {
      assert.deepEqual(ask(waiting, ring), { kind: 'already-backing-off' });
    }
  });

  it('R2: is claimed when its backoff is over, and goes on counting', () => {
    const decision = ask(waiting, doorbell({ kind: 'alarm' }), NOW + 20_000);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.unfinished, unfinished(13));
    assert.equal(decision.item.failures, 12);
  });

  it('R13: is claimed at once in a new generation, which starts counting anew and lets itself in only once', () => {
    const ring = doorbell(news('a@10'), { uid: 'a', generation: 4 });
    const decision = ask(waiting, ring);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.unfinished, { uid: 'a', generation: 4, claims: 1 });
    assert.equal(decision.item.failures, 0);
    assert.deepEqual(ask({ ...waiting, unfinished: { ...unfinished(12), generation: 4 } }, ring), {
      kind: 'already-backing-off',
    });
    const lost = ask({ ...held(5), unfinished: { ...unfinished(5), generation: 4 } }, ring, 7_000);
    assert.equal(lost.kind, 'backing-off');
  });

  it('is claimed at once when it was deleted or recreated', () => {
    assert.equal(ask(waiting, doorbell(news('a@10'), { uid: 'a', deleted: true })).kind, 'claim');
    const decision = ask(waiting, doorbell(news('new@11'), { uid: 'new', generation: 1 }));
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.unfinished, { uid: 'new', generation: 1, claims: 1 });
  });

  it('counts the first of an item that was written before anybody counted', () => {
    const decision = ask(heldItem({ uid: 'a' }), doorbell({ kind: 'alarm' }), 7_000);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.unfinished, { uid: 'a', generation: null, claims: 2 });
  });
});

describe('a doorbell that names a child', () => {
  const named = doorbell({
    kind: 'census',
    versions: [
      { uid: 'a', resourceVersion: '1' },
      { uid: 'uid-web', resourceVersion: '2', child: REF },
    ],
  });

  it('R8: fills the inventory of an item that was lost, so that the run looks at children that no plan names', () => {
    const decision = ask(undefined, named);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.item.children, [child('web', 'uid-web')]);
  });

  it('leaves an item alone that knows the child, or knows that it is gone', () => {
    const knows = workItem({ uid: 'a', children: [child('web', 'other')], seen: seen({ versions: { a: '1' } }) });
    const gone = workItem({ uid: 'a', seen: seen({ versions: { a: '0' }, gone: ['uid-web'] }) });
    for (const item of [knows, gone]) {
      const decision = ask(item, named);
      assert(decision.kind === 'claim');
      assert.deepEqual(decision.item.children, item.children);
    }
  });

  it('is not acknowledged before the name is stored, whatever else the item says', () => {
    const soiled = heldItem({ dirty: { kind: 'unknown' } });
    const stopped = workItem({ quarantine: { reason: 'INVALID_SPEC', generation: 1 }, seen: seen({ generation: 1 }) });
    const throttled = workItem({
      bucket: { tokens: 0, updatedAt: NOW },
      alarm: { wakeAt: NOW + 1_000, reason: 'throttled' },
    });
    const dying = workItem({
      alarm: { wakeAt: NOW + 9_000, reason: 'backoff' },
      unfinished: { uid: null, generation: null, claims: 5 },
    });
    const kinds = [soiled, stopped, throttled, dying].map((item) => {
      const decision = ask(item, named);
      const children = 'item' in decision ? decision.item?.children : undefined;
      return [decision.kind, children?.map(({ name }) => name)];
    });
    assert.deepEqual(kinds, [
      ['dirty', ['web']],
      ['quarantined', ['web']],
      ['throttled', ['web']],
      ['backing-off', ['web']],
    ]);
  });

  it('remembers of what is dirty the version only', () => {
    const decision = ask(heldItem(), named);
    assert(decision.kind === 'dirty');
    assert.deepEqual(decision.item.dirty, { kind: 'versions', versions: versions('a@1', 'uid-web@2') });
    assert.deepEqual(decision.item.children, [child('web', 'uid-web')]);
  });
});

describe('who lost a lease', () => {
  it('R22: is to be kept out before the thief has it, and by nobody after that', () => {
    const first = ask(heldItem({ uid: 'a' }), doorbell({ kind: 'alarm' }), 7_000);
    assert(first.kind === 'claim');
    assert.deepEqual([first.lost, first.item.unfenced], [['worker-1'], []]);
    const claimant = { ...CLAIMANT, holderIdentity: 'worker-3' };
    const second = answer(first.item, doorbell({ kind: 'alarm' }), claimant, { ...AT_NOW, nowMs: 70_000 });
    assert(second.kind === 'claim');
    assert.deepEqual([second.lost, second.item.unfenced], [['worker-2'], []]);
  });

  it('R22: is remembered while the item backs off, and kept out by whoever claims it then', () => {
    const item = heldItem({ uid: 'a', unfinished: { uid: 'a', generation: 3, claims: 5 }, unfenced: ['worker-0'] });
    const decision = ask(item, doorbell({ kind: 'alarm' }), 7_000);
    assert(decision.kind === 'backing-off');
    assert.deepEqual(decision.item.unfenced, ['worker-1', 'worker-0']);
    const later = ask(decision.item, doorbell({ kind: 'alarm' }), 700_000);
    assert(later.kind === 'claim');
    assert.deepEqual([later.lost, later.item.unfenced], [['worker-1', 'worker-0'], []]);
  });

  it('is nobody when there was no lease', () => {
    const decision = ask(workItem({ uid: 'a' }), doorbell({ kind: 'unknown' }), 7_000);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.lost, []);
  });

  it('stays bounded: the 32 latest', () => {
    const many = Array.from({ length: 32 }, (_, i) => `dead-${i}`);
    const decision = ask(heldItem({ uid: 'a', unfenced: many }), doorbell({ kind: 'alarm' }), 7_000);
    assert(decision.kind === 'claim');
    assert.deepEqual(decision.lost, ['worker-1', ...many.slice(0, 31)]);
  });
});
