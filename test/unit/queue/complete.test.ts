import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { complete, type Ending, type RunReport } from '../../../shared/queue/complete.ts';
import type { ChildRecord, WorkItem } from '../../../shared/queue/work-item.ts';
import { child, heldItem, report, runSummary, seen, versions, workItem } from '../../support/work-items.ts';

const CONTEXT = { nowMs: 3_000, canRerun: true, fraction: 0.5 };
const SETTLED: Ending = { kind: 'settled' };
const FAILED: Ending = {
  kind: 'failed',
  error: { code: 'TIMEOUT', message: 'the API server did not answer' },
  retry: { kind: 'backoff' },
  attempts: 1,
};
const TERMINAL: Ending = {
  kind: 'failed',
  error: { code: 'INVALID_SPEC', message: 'spec.replicas is negative' },
  retry: { kind: 'never' },
  attempts: 1,
};
const GONE: Ending = { kind: 'gone' };

const end = (item: WorkItem | undefined, ended: RunReport, context: Partial<typeof CONTEXT> = {}) =>
  complete(item, heldItem().lease, ended, { ...CONTEXT, ...context });

const doubtful = (name: string, uid: string | null): ChildRecord => ({ ...child(name, uid), mayReturn: true });

/** The item that a completion stores. */
function stored(completion: ReturnType<typeof complete>): WorkItem {
  assert('item' in completion);
  return completion.item;
}

describe('the end of a run', () => {
  it('leaves the item idle, with what was seen and made', () => {
    const ended = report(SETTLED, {
      seen: seen({ versions: { a: '5', b: '6' } }),
      children: [child('web', 'b')],
      generation: 2,
    });
    assert.deepEqual(end(heldItem(), ended), {
      kind: 'idle',
      item: workItem({
        uid: 'a',
        token: 7,
        seen: seen({ generation: 2, versions: { a: '5', b: '6' } }),
        children: [child('web', 'b')],
        runs: [runSummary()],
      }),
    });
  });

  it('I2: changes nothing when the item is somebody else’s, idle, or gone', () => {
    const other = heldItem();
    const cases = [
      { ...other, lease: { ...other.lease, token: 8 } },
      { ...other, lease: { ...other.lease, holderIdentity: 'worker-2' } },
      workItem({ token: 7 }),
      undefined,
    ];
    for (const item of cases) assert.deepEqual(end(item, report(SETTLED)), { kind: 'lost' });
  });

  it('is still the holder’s after the lease has ended, as long as nobody took it', () => {
    assert.equal(end(heldItem(), report(SETTLED), { nowMs: 60_000 }).kind, 'idle');
  });

  it('R2: wakes after the delay that the plan asked for', () => {
    const completion = end(heldItem(), report({ kind: 'settled', requeueAfterMs: 60_000 }));
    assert(completion.kind === 'wake');
    assert.equal(completion.wakeAt, 63_000);
    assert.deepEqual(completion.item.alarm, { wakeAt: 63_000, reason: 'requeue' });
    assert.equal(completion.item.lease, null);
  });

  it('forgets failures when it succeeds', () => {
    const item = heldItem({ failures: 5, lastError: { code: 'TIMEOUT', message: '' } });
    const { failures, lastError } = stored(end(item, report(SETTLED)));
    assert.equal(failures, 0);
    assert.equal(lastError, null);
  });
});

describe('a failed run', () => {
  it('R2: backs off, twice as long each time', () => {
    const first = end(heldItem(), report(FAILED));
    assert(first.kind === 'wake');
    assert.equal(first.wakeAt, 3_007.5);
    assert.equal(first.item.failures, 1);
    const second = end(heldItem({ failures: 1 }), report(FAILED));
    assert(second.kind === 'wake');
    assert.equal(second.wakeAt, 3_015);
    assert.deepEqual(second.item.lastError, { code: 'TIMEOUT', message: 'the API server did not answer' });
  });

  it('counts each of its attempts', () => {
    assert.equal(stored(end(heldItem({ failures: 2 }), report({ ...FAILED, attempts: 5 }))).failures, 7);
  });

  it('P58: goes on for ever in the slow lane, however often it failed', () => {
    const completion = end(heldItem({ failures: 5_000 }), report(FAILED), { fraction: 0.999 });
    assert(completion.kind === 'wake');
    assert.equal(completion.wakeAt, 3_000 + 299_850);
  });

  it('obeys the delay that a server named', () => {
    const completion = end(heldItem(), report({ ...FAILED, retry: { kind: 'after', delayMs: 900_000 } }));
    assert(completion.kind === 'wake');
    assert.equal(completion.wakeAt, 903_000);
  });

  it('R13: is quarantined at its generation when no retry can help', () => {
    const completion = end(heldItem(), report(TERMINAL, { generation: 4 }));
    assert(completion.kind === 'quarantined');
    assert.deepEqual(completion.item.quarantine, { reason: 'INVALID_SPEC', generation: 4 });
    assert.equal(completion.item.alarm, null);
    assert.equal(completion.item.lease, null);
  });

  it('ends a series of lost holders: the process survived it', () => {
    const item = heldItem({ uid: 'a', unfinished: { uid: 'a', generation: 3, claims: 7 } });
    assert.equal(stored(end(item, report(FAILED))).unfinished, null);
    const dirty = { ...item, dirty: { kind: 'unknown' } } as const;
    assert.deepEqual(stored(end(dirty, report(SETTLED, { generation: 4 }))).unfinished, {
      uid: 'a',
      generation: 4,
      claims: 1,
    });
  });

  it('keeps a long error message short', () => {
    const error = { code: 'API_REFUSED', message: 'x'.repeat(50_000) };
    assert.equal(stored(end(heldItem(), report({ ...FAILED, error }))).lastError?.message.length, 1001);
  });
});

describe('news that arrived during a run', () => {
  const dirty = heldItem({ dirty: { kind: 'versions', versions: versions('a@5', 'b@6') } });
  const sawAll = seen({ versions: { a: '5', b: '7' } });
  const missedOne = seen({ versions: { a: '5', b: '5' } });

  it('P25: is struck out when it was the run’s own writing, or was read by it', () => {
    assert.equal(end(dirty, report(SETTLED, { seen: sawAll, children: [child('web', 'b')] })).kind, 'idle');
  });

  it('is struck out when it is about an object that the run found gone', () => {
    assert.equal(end(dirty, report(SETTLED, { seen: seen({ versions: { a: '5' }, gone: ['b'] }) })).kind, 'idle');
  });

  it('I1: causes a rerun at once under a lease that counts from now, with a token of its own', () => {
    const completion = end(dirty, report(SETTLED, { seen: missedOne, children: [child('web', 'b')] }));
    assert(completion.kind === 'rerun');
    assert.deepEqual(completion.item.lease, { ...dirty.lease, token: 3_000_000, renewTime: 3_000 });
    assert.equal(completion.item.token, 3_000_000);
    assert.deepEqual(completion.item.alarm, { wakeAt: 9_000, reason: 'lease' });
    assert.deepEqual(completion.item.dirty, { kind: 'clean' });
  });

  it('I1: is not lost when the reply to the rerun was: asked again, the lease is lost instead of given up', () => {
    const first = end(dirty, report(SETTLED, { seen: missedOne }));
    assert.deepEqual(end(stored(first), report(SETTLED, { seen: missedOne })), { kind: 'lost' });
  });

  it('I1: rings when there is no budget for a rerun, with an alarm in case that gets lost', () => {
    const completion = end(dirty, report(SETTLED, { seen: missedOne }), { canRerun: false });
    assert(completion.kind === 'ring');
    assert.equal(completion.item.lease, null);
    assert.deepEqual(completion.item.alarm, { wakeAt: 3_000, reason: 'rerun' });
  });

  it('comes before backoff, quarantine, a requested delay and the removal of the item', () => {
    for (const ending of [FAILED, TERMINAL, GONE, { kind: 'settled', requeueAfterMs: 1 } as const]) {
      assert.equal(end(dirty, report(ending, { seen: missedOne })).kind, 'rerun');
      const ring = end(dirty, report(ending, { seen: missedOne }), { canRerun: false });
      assert.equal(ring.kind, 'ring');
      // A quarantined item would drop the alarm, and the news with it.
      assert.equal(stored(ring).quarantine, null);
    }
    assert.equal(stored(end(dirty, report(FAILED, { seen: missedOne }))).failures, 1);
  });

  it('R2: costs a run of the bucket at once, and none when somebody else is rung, who pays for it', () => {
    const bucket = { tokens: 5, updatedAt: 3_000 };
    const rerun = end({ ...dirty, bucket }, report(SETTLED, { seen: missedOne }));
    assert.deepEqual(stored(rerun).bucket, { tokens: 4, updatedAt: 3_000 });
    const ring = end({ ...dirty, bucket }, report(SETTLED, { seen: missedOne }), { canRerun: false });
    assert.deepEqual(stored(ring).bucket, bucket);
  });

  it('R2: waits for the next run of an object that has none left', () => {
    const spent = { ...dirty, bucket: { tokens: 0.25, updatedAt: 3_000 } };
    for (const canRerun of [true, false]) {
      const completion = end(spent, report(SETTLED, { seen: missedOne }), { canRerun });
      assert(completion.kind === 'wake');
      assert.equal(completion.item.lease, null);
      assert.deepEqual(completion.item.alarm, { wakeAt: 3_750, reason: 'throttled' });
    }
  });

  it('cannot be struck out when nobody knows what it was', () => {
    assert.equal(end(heldItem({ dirty: { kind: 'unknown' } }), report(SETTLED, { seen: sawAll })).kind, 'rerun');
  });
});

describe('an object that is gone or recreated', () => {
  it('takes its item with it', () => {
    assert.deepEqual(end(heldItem({ uid: 'a' }), report(GONE)), { kind: 'gone' });
  });

  it('is not struck out of its own item: the news of its deletion is old, that of its successor is not', () => {
    const deleted = heldItem({ uid: 'a', dirty: { kind: 'versions', versions: versions('a@9') } });
    assert.equal(end(deleted, report(GONE)).kind, 'gone');
    const recreated = heldItem({ uid: 'a', dirty: { kind: 'versions', versions: versions('a@9', 'new@10') } });
    const completion = end(recreated, report(GONE));
    assert(completion.kind === 'rerun');
    assert.equal(completion.item.uid, null);
    assert.deepEqual(completion.item.seen.gone, ['a']);
  });

  it('starts over under another uid', () => {
    const item = heldItem({
      uid: 'a',
      failures: 6,
      seen: seen({ generation: 9, versions: { a: '5' }, gone: ['z'] }),
    });
    const next = stored(
      end(item, report(FAILED, { uid: 'new', generation: 1, seen: seen({ versions: { new: '8' } }) })),
    );
    assert.equal(next.uid, 'new');
    assert.equal(next.failures, 1);
    assert.deepEqual(next.seen, seen({ generation: 1, versions: { new: '8' }, gone: ['a', 'z'] }));
  });

  it('keeps its uid when the run broke off before reading it', () => {
    const next = stored(end(heldItem({ uid: 'a' }), report(FAILED, { uid: null, generation: null })));
    assert.equal(next.uid, 'a');
    assert.deepEqual(next.seen.gone, []);
  });
});

describe('an item stays small, however long it lives', () => {
  it('keeps five runs, newest first', () => {
    const runs = ['4', '3', '2', '1', '0'].map((trigger) => runSummary({ trigger }));
    const next = stored(end(heldItem({ runs }), report(SETTLED, { summary: runSummary({ trigger: '5' }) })));
    assert.deepEqual(
      next.runs.map(({ trigger }) => trigger),
      ['5', '4', '3', '2', '1'],
    );
  });

  it('keeps the versions of the object and its children only', () => {
    const item = heldItem({ uid: 'a', seen: seen({ versions: { a: '1', b: '1', c: '1' } }) });
    const ended = report(SETTLED, { seen: seen({ versions: { a: '2', d: '2' } }), children: [child('web', 'b')] });
    assert.deepEqual(stored(end(item, ended)).seen.versions, { a: '2', b: '1' });
  });

  it('keeps the 32 latest of what is gone', () => {
    const old = Array.from({ length: 32 }, (_, n) => `old-${n}`);
    const next = stored(
      end(heldItem({ seen: seen({ gone: old }) }), report(SETTLED, { seen: seen({ gone: ['new'] }) })),
    );
    assert.deepEqual(next.seen.gone, ['new', ...old.slice(0, 31)]);
  });

  it('R8: still looks for a child that a holder before it may yet create, and marks it wherever it turns up', () => {
    const known = [doubtful('a', 'uid-a'), doubtful('b', 'uid-b'), child('c', 'uid-c')];
    const looked = seen({ versions: { 'uid-a': '5' }, gone: ['uid-b', 'uid-c'] });
    const ended = report(SETTLED, { children: [child('a', 'uid-a')], seen: looked });
    const next = stored(end(heldItem({ uid: 'a', children: known }), ended));
    assert.deepEqual(next.children, [doubtful('a', 'uid-a'), doubtful('b', null)]);
  });

  it('keeps a child that was named while the run was under way, and runs again for it', () => {
    const looked = seen({ versions: { a: '9', 'uid-made': '5' } });
    const ended = report(SETTLED, { children: [child('made', 'uid-made')], seen: looked });
    const named = heldItem({
      uid: 'a',
      children: [child('gone', null), child('named', 'uid-named')],
      dirty: { kind: 'versions', versions: versions('uid-named@7') },
    });
    const completion = end(named, ended);
    assert.equal(completion.kind, 'rerun');
    assert.deepEqual(stored(completion).children, [child('made', 'uid-made'), child('named', 'uid-named')]);
  });

  it('forgets what may return when the object is another one: its owner reference makes it garbage', () => {
    const item = heldItem({ uid: 'old', children: [doubtful('a', null)] });
    assert.deepEqual(stored(end(item, report(SETTLED, { uid: 'new' }))).children, []);
  });

  it('keeps the 32 latest names of what may return', () => {
    const children = Array.from({ length: 40 }, (_, n) => doubtful(`c${n}`, null));
    const next = stored(end(heldItem({ uid: 'a', children }), report(SETTLED)));
    assert.deepEqual([next.children.length, next.children[0]?.name], [32, 'c8']);
  });

  it('tells 20 writes of a run, and how many more there were', () => {
    const writes = Array.from({ length: 25 }, (_, n) => `created ConfigMap default/c${n}`);
    const [run] = stored(end(heldItem(), report(SETTLED, { summary: runSummary({ writes }) }))).runs;
    assert.equal(run?.writes.length, 21);
    assert.equal(run?.writes[20], '… 5 more');
  });
});
