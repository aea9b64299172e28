import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Deployment, Service } from '../../../shared/kube/builtin.ts';
import { formatGroupKind, type GroupKind, type Kind } from '../../../shared/kube/kind.ts';
import type { ObjectMeta, StoredMeta } from '../../../shared/kube/object.ts';
import { encode } from '../../../shared/message/codec.ts';
import { type Change, entryOf, Inventory } from '../../../shared/watch/inventory.ts';
import { censusOf, type Ring, ringsOf, type Watcher, type World } from '../../../shared/watch/mapping.ts';
import { Widget } from '../../support/objects.ts';

const watcher: Watcher = { name: 'widget', kind: Widget, owns: [Deployment, Service] };

function meta(name: string, resourceVersion: string, more: Partial<ObjectMeta> = {}): StoredMeta {
  return { name, namespace: 'default', uid: `uid-${name}`, resourceVersion, ...more };
}

function childOf(owner: string, name: string, resourceVersion: string): StoredMeta {
  const reference = { apiVersion: 'test.driftless.dev/v1', kind: 'Widget', name: owner, uid: `uid-${owner}` };
  return meta(name, resourceVersion, { ownerReferences: [{ ...reference, controller: true }] });
}

/** The state of a child, as a doorbell tells of it. */
function heard(name: string, resourceVersion: string, { group, kind }: GroupKind = Deployment) {
  const child = { group, kind, namespace: 'default', name };
  return { uid: `uid-${name}`, resourceVersion, child };
}

/** A world in which these kinds have been listed; the others have not. */
function world(known: readonly (readonly [Kind, readonly StoredMeta[]])[], watchers: readonly Watcher[] = [watcher]) {
  const inventories = new Map<string, Inventory>();
  const inventoryOf = (kind: GroupKind): Inventory => {
    const name = formatGroupKind(kind);
    const inventory = inventories.get(name) ?? new Inventory();
    inventories.set(name, inventory);
    return inventory;
  };
  for (const [kind, metas] of known) inventoryOf(kind).replace(metas.map(entryOf));
  return { cluster: 'local', watchers, inventoryOf } satisfies World;
}

function after(at: World, kind: Kind, type: 'ADDED' | 'MODIFIED' | 'DELETED', object: StoredMeta): readonly Ring[] {
  const change = at.inventoryOf(kind).apply({ type, meta: object });
  return change === undefined ? [] : ringsOf(at, kind, change);
}

const key = {
  cluster: 'local',
  controller: 'widget',
  group: 'test.driftless.dev',
  kind: 'Widget',
  namespace: 'default',
  name: 'w',
};

describe("mapping: an object's own changes", () => {
  it('ring for the object, with uid, generation and the new version', () => {
    const at = world([[Widget, [meta('w', '10', { generation: 1 })]]]);
    assert.deepEqual(after(at, Widget, 'MODIFIED', meta('w', '11', { generation: 2 })), [
      {
        topic: 'changes',
        doorbell: {
          key,
          uid: 'uid-w',
          generation: 2,
          news: { kind: 'versions', versions: [{ uid: 'uid-w', resourceVersion: '11' }] },
          trigger: 'MODIFIED Widget default/w',
        },
      },
    ]);
  });

  it('P25: a change of status alone rings nobody', () => {
    const at = world([[Widget, [meta('w', '10', { generation: 1 })]]]);
    assert.deepEqual(after(at, Widget, 'MODIFIED', meta('w', '11', { generation: 1 })), []);
  });

  it('a new object brings along the children that were heard of before it', () => {
    const at = world([
      [Widget, []],
      [Deployment, []],
    ]);
    assert.deepEqual(after(at, Deployment, 'ADDED', childOf('w', 'd', '20')), [], 'its owner is not known yet');
    assert.deepEqual(after(at, Widget, 'ADDED', meta('w', '15'))[0]?.doorbell.news, {
      kind: 'versions',
      versions: [{ uid: 'uid-w', resourceVersion: '15' }, heard('d', '20')],
    });
  });

  it('P22: a delete rings with its version, or as unknown when only a list showed it', () => {
    const seen = world([[Widget, [meta('w', '10')]]]);
    assert.deepEqual(after(seen, Widget, 'DELETED', meta('w', '12'))[0]?.doorbell, {
      key,
      uid: 'uid-w',
      news: { kind: 'versions', versions: [{ uid: 'uid-w', resourceVersion: '12' }] },
      deleted: true,
      trigger: 'DELETED Widget default/w',
    });

    const unseen = world([[Widget, [meta('w', '10')]]]);
    const rings = unseen
      .inventoryOf(Widget)
      .replace([])
      .flatMap((change) => ringsOf(unseen, Widget, change));
    assert.deepEqual(
      rings.map(({ doorbell }) => doorbell.news),
      [{ kind: 'unknown' }],
    );
  });

  it('a version that went back rings as unknown: the work queue would take it for old', () => {
    const at = world([[Widget, [meta('w', '900', { generation: 1 })]]]);
    const changes = at.inventoryOf(Widget).replace([entryOf(meta('w', '30', { generation: 1 }))]);
    const rings = changes.flatMap((change) => ringsOf(at, Widget, change));
    assert.deepEqual(
      rings.map(({ doorbell }) => doorbell.news),
      [{ kind: 'unknown' }],
    );
  });

  it('a cluster-scoped object has no namespace', () => {
    const kind = { ...Widget, namespaced: false };
    const at = world([[kind, []]], [{ ...watcher, kind }]);
    const [ring] = after(at, kind, 'ADDED', { name: 'w', uid: 'uid-w', resourceVersion: '3' });
    assert.deepEqual([ring?.doorbell.key.namespace, ring?.doorbell.trigger], ['', 'ADDED Widget w']);
  });
});

describe('mapping: changes of children', () => {
  it('ring for the owner, with its uid and generation and the version of the child', () => {
    const at = world([
      [Widget, [meta('w', '10', { generation: 7 })]],
      [Deployment, [childOf('w', 'd', '20')]],
    ]);
    assert.deepEqual(after(at, Deployment, 'MODIFIED', childOf('w', 'd', '21')), [
      {
        topic: 'changes',
        doorbell: {
          key,
          uid: 'uid-w',
          generation: 7,
          news: { kind: 'versions', versions: [heard('d', '21')] },
          trigger: 'MODIFIED Deployment default/d',
        },
      },
    ]);
  });

  it('ring also before the owners have been listed, with the uid of the reference', () => {
    const at = world([[Deployment, []]]);
    assert.deepEqual(after(at, Deployment, 'ADDED', childOf('w', 'd', '20')), [
      {
        topic: 'changes',
        doorbell: {
          key,
          uid: 'uid-w',
          news: { kind: 'versions', versions: [heard('d', '20')] },
          trigger: 'ADDED Deployment default/d',
        },
      },
    ]);
  });

  it('ring nobody when the owner is gone: the garbage collector is at work', () => {
    const at = world([
      [Widget, []],
      [Deployment, [childOf('w', 'd', '20')]],
    ]);
    assert.deepEqual(after(at, Deployment, 'DELETED', childOf('w', 'd', '25')), []);
  });

  it('ring nobody when the owner is of another kind, the child is not declared, or there is no controller', () => {
    const at = world([
      [Widget, [meta('w', '10')]],
      [Deployment, []],
    ]);
    const foreign = { apiVersion: 'other/v1', kind: 'Widget', name: 'w', uid: 'uid-w' };
    const by = (controller: boolean, apiVersion: string) =>
      meta('d', '20', { ownerReferences: [{ ...foreign, apiVersion, controller }] });
    assert.deepEqual(after(at, Deployment, 'ADDED', by(true, 'other/v1')), []);
    assert.deepEqual(
      after(at, Deployment, 'MODIFIED', { ...by(false, 'test.driftless.dev/v1'), resourceVersion: '21' }),
      [],
    );
    const undeclared = world([[Widget, [meta('w', '10')]]], [{ ...watcher, owns: [] }]);
    assert.deepEqual(after(undeclared, Deployment, 'ADDED', childOf('w', 'd', '20')), []);
  });

  it('a child that changes hands rings for both owners', () => {
    const at = world([
      [Widget, [meta('w', '10'), meta('v', '11')]],
      [Deployment, [childOf('w', 'd', '20')]],
    ]);
    const rings = after(at, Deployment, 'MODIFIED', childOf('v', 'd', '21'));
    assert.deepEqual(
      rings.map(({ doorbell }) => doorbell.key.name),
      ['v', 'w'],
    );
  });

  it('P09: a child that a list shows to be gone rings a census of what is left', () => {
    const at = world([
      [Widget, [meta('w', '10')]],
      [Deployment, [childOf('w', 'd', '20')]],
      [Service, [childOf('w', 's', '30')]],
    ]);
    const [change] = at.inventoryOf(Deployment).replace([]) as readonly [Change];
    assert.deepEqual(ringsOf(at, Deployment, change)[0]?.doorbell.news, {
      kind: 'census',
      versions: [{ uid: 'uid-w', resourceVersion: '10' }, heard('s', '30', Service)],
    });
  });

  it('one kind can be the object of one controller and the child of two', () => {
    const watchers = [watcher, { ...watcher, name: 'second' }, { name: 'deployment', kind: Deployment, owns: [] }];
    const at = world(
      [
        [Widget, [meta('w', '10')]],
        [Deployment, []],
      ],
      watchers,
    );
    const rings = after(at, Deployment, 'ADDED', childOf('w', 'd', '20'));
    assert.deepEqual(
      rings.map(({ doorbell: { key } }) => [key.controller, key.kind, key.name]),
      [
        ['widget', 'Widget', 'w'],
        ['second', 'Widget', 'w'],
        ['deployment', 'Deployment', 'd'],
      ],
    );
  });
});

describe('mapping: census', () => {
  const some = (count: number) =>
    Array.from({ length: count }, (_, index) => childOf('w', `d${index}`, `${20 + index}`));

  it('names the object first, then all of its children, in the background', () => {
    const at = world([
      [Widget, [meta('w', '10', { generation: 2 }), meta('v', '11')]],
      [Deployment, some(2)],
      [Service, []],
    ]);
    const [ring, other] = [...censusOf(at, watcher)];
    assert.deepEqual(ring, {
      topic: 'background',
      doorbell: {
        key,
        uid: 'uid-w',
        generation: 2,
        news: {
          kind: 'census',
          versions: [{ uid: 'uid-w', resourceVersion: '10' }, heard('d0', '20'), heard('d1', '21')],
        },
        trigger: 'LISTED Widget default/w',
      },
    });
    assert.deepEqual(other?.doorbell.news, { kind: 'census', versions: [{ uid: 'uid-v', resourceVersion: '11' }] });
  });

  it('is unknown when a message cannot hold it', () => {
    const newsWith = (children: number) =>
      [
        ...censusOf(
          world([
            [Widget, [meta('w', '10')]],
            [Deployment, some(children)],
            [Service, []],
          ]),
          watcher,
        ),
      ][0]?.doorbell.news.kind;
    assert.deepEqual([newsWith(7), newsWith(8)], ['census', 'unknown']);
  });

  it('claims no more than versions while a kind has not been listed', () => {
    const at = world([
      [Widget, [meta('w', '10')]],
      [Deployment, []],
    ]);
    assert.equal([...censusOf(at, watcher)][0]?.doorbell.news.kind, 'versions');
  });
});

describe('secrets', () => {
  it('P76 R20: no value of a label or annotation, and nothing beyond names and versions, leaves in a message', () => {
    const secret = fc.uuid().map((uuid) => `secret-${uuid}`);
    const values = fc.dictionary(fc.string({ minLength: 1, maxLength: 20 }), secret, { minKeys: 1, maxKeys: 4 });
    const type = fc.constantFrom('ADDED', 'MODIFIED', 'DELETED');
    const anyObject = fc.record({
      labels: values,
      annotations: values,
      generation: fc.option(fc.nat()),
      data: values,
      type,
    });
    fc.assert(
      fc.property(fc.array(anyObject, { minLength: 1, maxLength: 6 }), (objects) => {
        const at = world([
          [Widget, [meta('w', '1')]],
          [Deployment, []],
          [Service, []],
        ]);
        const rings = objects.flatMap(({ labels, annotations, generation, data, type }, index) => {
          const more = { labels, annotations, ...(generation === null ? {} : { generation }), data };
          return [
            ...after(at, Deployment, type, { ...childOf('w', `d${index % 2}`, `${20 + index}`), ...more }),
            ...after(at, Widget, type, { ...meta('w', `${40 + index}`), ...more }),
          ];
        });
        const sent = [...rings, ...censusOf(at, watcher)].map(({ doorbell }) => JSON.stringify(encode(doorbell)));
        assert(sent.length > 0);
        assert.equal(
          sent.find((message) => message.includes('secret-')),
          undefined,
        );
      }),
    );
  });
});
