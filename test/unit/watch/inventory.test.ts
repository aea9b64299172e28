import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ObjectMeta, StoredMeta } from '../../../shared/kube/object.ts';
import { type Change, entryOf, Inventory } from '../../../shared/watch/inventory.ts';
import { primaryMoved } from '../../../shared/watch/predicates.ts';

function meta(name: string, resourceVersion: string, more: Partial<ObjectMeta> = {}): StoredMeta {
  return { name, namespace: 'default', uid: `uid-${name}`, resourceVersion, ...more };
}

function ownedBy(uid: string): Partial<ObjectMeta> {
  return {
    ownerReferences: [{ apiVersion: 'test.driftless.dev/v1', kind: 'Widget', name: 'w', uid, controller: true }],
  };
}

function listOf(...metas: readonly StoredMeta[]) {
  return metas.map(entryOf);
}

function short(change: Change | undefined): string {
  if (change === undefined) return 'nothing';
  if (change.kind === 'deleted') return `deleted ${change.before.name} ${change.resourceVersion ?? 'unseen'}`;
  return `${change.kind} ${change.after.name} ${change.after.resourceVersion}`;
}

describe('inventory', () => {
  it('tells what an event changed', () => {
    const inventory = new Inventory();
    const changes = [
      inventory.apply({ type: 'ADDED', meta: meta('a', '10') }),
      inventory.apply({ type: 'MODIFIED', meta: meta('a', '11') }),
      inventory.apply({ type: 'DELETED', meta: meta('a', '12') }),
    ];
    assert.deepEqual(changes.map(short), ['added a 10', 'modified a 11', 'deleted a 12']);
    assert.equal(inventory.size, 0);
  });

  it('P04: an event that was seen before, or is older, tells nothing', () => {
    const inventory = new Inventory();
    inventory.replace(listOf(meta('a', '100')));
    const repeated = ['100', '99'].map((version) => inventory.apply({ type: 'ADDED', meta: meta('a', version) }));
    assert.deepEqual(repeated.map(short), ['nothing', 'nothing']);
    assert.equal(inventory.get('uid-a')?.resourceVersion, '100');
  });

  it('P09: a list after a gap of 3 changes, 1 delete and 1 create tells exactly these', () => {
    const inventory = new Inventory();
    inventory.replace(listOf(...['a', 'b', 'c', 'd', 'e'].map((name) => meta(name, '10'))));
    const changes = inventory.replace(
      listOf(meta('a', '21'), meta('b', '22'), meta('c', '23'), meta('e', '10'), meta('f', '24')),
    );
    assert.deepEqual(changes.map(short), [
      'deleted d unseen',
      'modified a 21',
      'modified b 22',
      'modified c 23',
      'added f 24',
    ]);
  });

  it('P22: finds ten objects that were deleted while nobody watched', () => {
    const inventory = new Inventory();
    const names = Array.from({ length: 10 }, (_, index) => `gone-${index}`);
    inventory.replace(listOf(...names.map((name) => meta(name, '10')), meta('stays', '10')));
    const changes = inventory.replace(listOf(meta('stays', '10')));
    assert.deepEqual(
      changes.map(short),
      names.map((name) => `deleted ${name} unseen`),
    );
  });

  it('an object that was recreated under its name is known by its new uid last', () => {
    const inventory = new Inventory();
    inventory.replace(listOf(meta('a', '10')));
    const changes = inventory.replace(listOf({ ...meta('a', '20'), uid: 'uid-new' }));
    assert.deepEqual(changes.map(short), ['deleted a unseen', 'added a 20']);
  });

  it('takes a version that went back for a change: the store was restored', () => {
    const inventory = new Inventory();
    inventory.replace(listOf(meta('a', '900')));
    assert.deepEqual(inventory.replace(listOf(meta('a', '30'))).map(short), ['modified a 30']);
    assert.deepEqual(short(inventory.apply({ type: 'MODIFIED', meta: meta('a', '31') })), 'modified a 31');
  });

  it('reports a delete of an object that it never saw: somebody else may know it', () => {
    assert.equal(short(new Inventory().apply({ type: 'DELETED', meta: meta('a', '12') })), 'deleted a 12');
  });

  it('finds the children of a controller, and forgets those that went or changed hands', () => {
    const inventory = new Inventory();
    inventory.replace(listOf(meta('a', '1', ownedBy('w1')), meta('b', '2', ownedBy('w1')), meta('c', '3')));
    const names = (uid: string) => inventory.childrenOf(uid).map(({ name }) => name);
    assert.deepEqual(names('w1'), ['a', 'b']);

    inventory.apply({ type: 'MODIFIED', meta: meta('a', '4', ownedBy('w2')) });
    inventory.apply({ type: 'DELETED', meta: meta('b', '5', ownedBy('w1')) });
    assert.deepEqual([names('w1'), names('w2')], [[], ['a']]);
  });

  it('R21: an entry does not grow with its object', () => {
    const size = (more: Partial<ObjectMeta>) => JSON.stringify(entryOf(meta('a', '1', more))).length;
    const huge = {
      labels: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`label-${i}`, 'x'.repeat(60)])),
      annotations: { 'kubectl.kubernetes.io/last-applied-configuration': 'x'.repeat(250_000) },
      finalizers: Array.from({ length: 50 }, (_, i) => `example.com/finalizer-${i}`),
    };
    assert.equal(size(huge), size({}));
  });

  it('a replaced list is the inventory, and its changes lead from the old to the new state', () => {
    const list = fc.uniqueArray(fc.tuple(fc.nat(8), fc.integer({ min: 1, max: 5 })), { selector: ([id]) => id });
    fc.assert(
      fc.property(fc.array(list, { minLength: 1, maxLength: 5 }), (lists) => {
        const inventory = new Inventory();
        const mirror = new Map<string, string>();
        for (const objects of lists) {
          for (const change of inventory.replace(
            listOf(...objects.map(([id, version]) => meta(`${id}`, `${version}`))),
          )) {
            if (change.kind === 'deleted') mirror.delete(change.before.name);
            else mirror.set(change.after.name, change.after.resourceVersion);
          }
          const expected = new Map(objects.map(([id, version]) => [`${id}`, `${version}`]));
          assert.deepEqual(mirror, expected);
          assert.equal(inventory.size, objects.length);
        }
      }),
    );
  });
});

describe('predicates', () => {
  const base = meta('a', '10', { generation: 3, labels: { app: 'x' }, finalizers: ['f'] });
  const cases: readonly (readonly [what: string, after: StoredMeta, moved: boolean])[] = [
    ['status alone', { ...base, resourceVersion: '11' }, false],
    ['the spec', { ...base, resourceVersion: '11', generation: 4 }, true],
    ['a label', { ...base, resourceVersion: '11', labels: { app: 'y' } }, true],
    ['an annotation', { ...base, resourceVersion: '11', annotations: { a: 'b' } }, true],
    ['a finalizer', { ...base, resourceVersion: '11', finalizers: [] }, true],
    ['an owner', { ...base, resourceVersion: '11', ...ownedBy('w') }, true],
    ['deletion', { ...base, resourceVersion: '11', deletionTimestamp: '2026-01-01T00:00:00Z' }, true],
    ['a version that went back', { ...base, resourceVersion: '9' }, true],
  ];
  for (const [what, after, moved] of cases) {
    it(`P25: a change of ${what} ${moved ? 'matters' : 'does not matter'} to the object's controller`, () => {
      assert.equal(primaryMoved(entryOf(base), entryOf(after)), moved);
    });
  }

  it('kinds without a generation go by resourceVersion', () => {
    assert.equal(primaryMoved(entryOf(meta('a', '10')), entryOf(meta('a', '11'))), true);
  });
});
