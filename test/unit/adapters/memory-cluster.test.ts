import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClusterCall, MemoryCluster } from '../../../shared/adapters/memory/cluster.ts';
import { TransientError } from '../../../shared/errors.ts';
import { Deployment } from '../../../shared/kube/builtin.ts';
import type { Kind } from '../../../shared/kube/kind.ts';
import type { KubeObject, ObjectMeta, OwnerReference, Stored } from '../../../shared/kube/object.ts';
import { WatchExpiredError } from '../../../shared/kube/watch-error.ts';
import type { WatchEvent } from '../../../shared/kube/watch-event.ts';
import { sessionOf } from '../../support/session.ts';

const ConfigMap: Kind = { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', namespaced: true };
const { signal } = new AbortController();
const options = { fieldManager: 'test', signal };

describe('the cluster in memory', () => {
  it('gives the same uids, versions and times for the same calls', async () => {
    const run = async () => {
      const cluster = new MemoryCluster();
      await sessionOf(cluster).create(ConfigMap, configMap('a'), options);
      cluster.create(ConfigMap, configMap('b'));
      return cluster.objects();
    };
    assert.deepEqual(await run(), await run());
  });

  it('hands out copies: changing one changes nothing that is stored', async () => {
    const cluster = new MemoryCluster();
    const sent = { ...configMap('a'), data: { a: 'b' } };
    const object = await sessionOf(cluster).create(ConfigMap, sent, options);
    sent.data.a = 'changed';
    Object.assign(Object(object['data']), { a: 'changed' });
    assert.deepEqual(cluster.objects()[0]?.['data'], { a: 'b' });
  });

  it('counts a generation for a Deployment when its annotations change, but not for labels or status', () => {
    const cluster = new MemoryCluster();
    const key = { namespace: 'default', name: 'd' };
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: key };
    const edit = (change: (o: Stored) => KubeObject) => cluster.edit<KubeObject>(Deployment as Kind, key, 'x', change);
    cluster.create(Deployment as Kind, object);
    assert.equal(edit((o) => ({ ...o, metadata: { ...o.metadata, labels: { a: 'b' } } })).metadata.generation, 1);
    assert.equal(edit((o) => ({ ...o, status: { readyReplicas: 1 } })).metadata.generation, 1);
    assert.equal(edit((o) => ({ ...o, metadata: { ...o.metadata, annotations: { a: 'b' } } })).metadata.generation, 2);
    assert.equal(edit((o) => ({ ...o, spec: { replicas: 2 } })).metadata.generation, 3);
  });

  describe('garbage collection', () => {
    it('takes what has lost all of its owners, and what they owned', () => {
      const cluster = new MemoryCluster();
      const first = cluster.create(ConfigMap, configMap('first'));
      const second = cluster.create(ConfigMap, configMap('second'));
      const child = cluster.create(
        ConfigMap,
        configMap('child', { ownerReferences: [ownedBy(first), ownedBy(second)] }),
      );
      cluster.create(ConfigMap, configMap('grandchild', { ownerReferences: [ownedBy(child)] }));

      cluster.remove(ConfigMap, { namespace: 'default', name: 'first' });
      assert.deepEqual(names(cluster), ['second', 'child', 'grandchild']);
      cluster.remove(ConfigMap, { namespace: 'default', name: 'second' });
      assert.deepEqual(names(cluster), []);
    });

    it('P82: takes a child whose owner never was, or is in another namespace', () => {
      const cluster = new MemoryCluster();
      const owner = cluster.create(ConfigMap, configMap('owner'));
      cluster.create(ConfigMap, configMap('dangling', { ownerReferences: [{ ...ownedBy(owner), uid: 'gone' }] }));
      cluster.create(ConfigMap, configMap('far', { namespace: 'other', ownerReferences: [ownedBy(owner)] }));
      assert.deepEqual(names(cluster), ['owner']);
    });

    it('waits for finalizers, of the owner and of the child', () => {
      const cluster = new MemoryCluster();
      const owner = cluster.create(ConfigMap, configMap('owner', { finalizers: ['x.io/f'] }));
      cluster.create(ConfigMap, configMap('child', { ownerReferences: [ownedBy(owner)], finalizers: ['x.io/g'] }));
      const release = (name: string) =>
        cluster.edit(
          ConfigMap,
          { namespace: 'default', name },
          'x',
          ({ metadata: { finalizers: _, ...rest }, ...o }) => ({
            ...o,
            metadata: rest,
          }),
        );
      cluster.remove(ConfigMap, { namespace: 'default', name: 'owner' });
      assert.deepEqual(names(cluster), ['owner', 'child']);
      release('owner');
      assert.deepEqual(names(cluster), ['child']);
      assert.ok(cluster.objects()[0]?.metadata.deletionTimestamp);
      release('child');
      assert.deepEqual(names(cluster), []);
    });
  });

  describe('intercepted calls', () => {
    it('sees every call, before it acts and after', async () => {
      const cluster = new MemoryCluster();
      const seen: ClusterCall[] = [];
      cluster.intercept = (call) => void seen.push(call);
      await sessionOf(cluster).create(ConfigMap, configMap('a'), options);
      await cluster.list(ConfigMap, signal);
      assert.deepEqual(seen, [
        { verb: 'create', target: 'ConfigMap default/a', point: 'before' },
        { verb: 'create', target: 'ConfigMap default/a', point: 'after' },
        { verb: 'list', target: 'ConfigMap', point: 'before' },
        { verb: 'list', target: 'ConfigMap', point: 'after' },
      ]);
    });

    for (const [point, stored] of [
      ['before', []],
      ['after', ['a']],
    ] as const) {
      it(`a failure ${point} a write: the caller gets it, and the write has ${stored.length ? '' : 'not '}happened`, async () => {
        const cluster = new MemoryCluster();
        const lost = new TransientError('API_UNREACHABLE', 'connection reset');
        cluster.intercept = (call) => {
          if (call.point === point) throw lost;
        };
        await assert.rejects(sessionOf(cluster).create(ConfigMap, configMap('a'), options), (error) => error === lost);
        assert.deepEqual(names(cluster), stored);
      });
    }

    it('lets others act just before a call takes effect', async () => {
      const cluster = new MemoryCluster();
      const object = await sessionOf(cluster).create(ConfigMap, configMap('a'), options);
      cluster.intercept = ({ point }) => {
        if (point === 'before') cluster.remove(ConfigMap, { namespace: 'default', name: 'a' });
      };
      await assert.rejects(sessionOf(cluster).apply(ConfigMap, object, configMap('a'), options), { code: 'CONFLICT' });
    });
  });

  describe('watches', () => {
    it('end without an error when they are ended', async () => {
      const cluster = new MemoryCluster();
      const events: WatchEvent[] = [];
      for await (const event of cluster.watch(ConfigMap, { from: 'list' }, signal)) {
        events.push(event);
        cluster.endWatches();
      }
      assert.equal(events.length, 1);
    });

    it('expire when their history was forgotten, also while they are open', async () => {
      const cluster = new MemoryCluster();
      const { resourceVersion } = await cluster.list(ConfigMap, signal);
      cluster.create(ConfigMap, configMap('a'));
      cluster.create(ConfigMap, configMap('b'));
      const follow = async () => {
        for await (const _ of cluster.watch(ConfigMap, { from: 'version', resourceVersion }, signal)) {
          cluster.expireWatches();
        }
      };
      await assert.rejects(follow, WatchExpiredError);
      await assert.rejects(follow, WatchExpiredError);
    });
  });
});

function configMap(name: string, more: Partial<ObjectMeta> = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', ...more } };
}

function ownedBy({ apiVersion, kind, metadata: { name, uid } }: Stored): OwnerReference {
  return { apiVersion, kind, name, uid };
}

function names(cluster: MemoryCluster): readonly string[] {
  return cluster.objects().map(({ metadata }) => metadata.name);
}
