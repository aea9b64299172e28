import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { ConfigMap } from '../../shared/kube/builtin.ts';
import type { Heard } from '../../shared/message/doorbell.ts';
import { plan } from '../../shared/reconcile/controller.ts';
import { drive } from '../support/drive.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { memoryWorld } from '../support/memory-runtime.ts';
import { configMap, Widget, widgetController } from '../support/objects.ts';

const KEY = { namespace: 'default', name: 'w' };

/** Wants one ConfigMap, unless the size is 0. */
const controller = widgetController(({ object }) =>
  plan({ children: object.spec.size === 0 ? [] : [configMap('made', { size: String(object.spec.size) })] }),
);

/** A Widget with its child, and then a store that has nothing of it. */
async function lost() {
  const [cluster, clock] = [new MemoryCluster(), new FakeClock()];
  cluster.create(Widget, {
    apiVersion: 'test.driftless.dev/v1',
    kind: 'Widget',
    metadata: { ...KEY },
    spec: { size: 1 },
  });
  await drive(clock, memoryWorld(controller, { cluster, clock }).ring());
  assert.deepEqual(
    cluster.objects().map(({ kind }) => kind),
    ['Widget', 'ConfigMap'],
  );
  const world = memoryWorld(controller, { cluster, clock, store: new MemoryWorkStore({ clock }) });
  return { cluster, clock, world };
}

/** What a census tells of the cluster. */
function everything(cluster: MemoryCluster): readonly Heard[] {
  return cluster.objects().map(({ kind, metadata: { uid, resourceVersion, name } }) => ({
    uid,
    resourceVersion,
    ...(kind === 'Widget' ? {} : { child: { group: '', kind, namespace: 'default', name } }),
  }));
}

describe('a store that lost everything', () => {
  it('R8: leaves no orphan: a child that nobody wants any more is found by its name in the census', async () => {
    const { cluster, clock, world } = await lost();
    cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 0 } }));
    await drive(clock, world.ring({ news: { kind: 'census', versions: everything(cluster) } }));
    assert.deepEqual(
      cluster.objects().map(({ kind }) => kind),
      ['Widget'],
    );
  });

  it('R8: nor when a change of the object rings before the census', async () => {
    const { cluster, clock, world } = await lost();
    cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 0 } }));
    const versions = everything(cluster);
    await drive(clock, world.ring({ news: { kind: 'versions', versions: versions.slice(0, 1) } }));
    assert.equal(cluster.objects().length, 2);
    await drive(clock, world.ring({ news: { kind: 'census', versions } }));
    assert.equal(cluster.objects().length, 1);
  });

  it('does not call a child missing that exists, though the item knows none', async () => {
    const seeing = widgetController(({ children }) =>
      plan({
        children: [configMap('made', { size: '1' })],
        status: { found: children.get(ConfigMap, 'made') !== undefined },
      }),
    );
    const { cluster, clock } = await lost();
    await drive(clock, memoryWorld(seeing, { cluster, clock, store: new MemoryWorkStore({ clock }) }).ring());
    const { status } = cluster.objects()[0] as { readonly status?: { readonly found?: boolean } };
    assert.equal(status?.found, true);
  });

  it('does not delete what somebody else made, though it names the object as its controller', async () => {
    const { cluster, clock, world } = await lost();
    const [widget] = cluster.objects();
    const owner = {
      apiVersion: 'test.driftless.dev/v1',
      kind: 'Widget',
      name: 'w',
      uid: widget?.metadata.uid ?? '',
      controller: true,
    };
    cluster.create(ConfigMap, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { namespace: 'default', name: 'theirs', ownerReferences: [owner] },
    });
    await drive(clock, world.ring({ news: { kind: 'census', versions: everything(cluster) } }));
    assert.deepEqual(
      cluster.objects().map(({ metadata }) => metadata.name),
      ['w', 'made', 'theirs'],
    );
  });
});
