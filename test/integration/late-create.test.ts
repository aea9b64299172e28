import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { plan } from '../../shared/reconcile/controller.ts';
import { drive } from '../support/drive.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { memoryWorld } from '../support/memory-runtime.ts';
import { configMap, Widget, widgetController } from '../support/objects.ts';

const KEY = { namespace: 'default', name: 'w' };

/** Wants one ConfigMap, unless the size is 0. */
const controller = widgetController(({ object }) =>
  plan({ children: object.spec.size === 0 ? [] : [configMap('late', { size: String(object.spec.size) })] }),
);

describe('a create that arrives when its worker has long lost the lease', () => {
  it('R8 R22: leaves no orphan, though the successor found no child and wants none', async () => {
    const cluster = new MemoryCluster();
    const clock = new FakeClock();
    const store = new MemoryWorkStore({ clock });
    cluster.create(Widget, {
      apiVersion: 'test.driftless.dev/v1',
      kind: 'Widget',
      metadata: { ...KEY },
      spec: { size: 1 },
    });

    // The first worker is never heard of again once it has sent its create, which takes its time.
    const [sent, arrives, arrived] = [0, 0, 0].map(() => Promise.withResolvers<void>());
    cluster.intercept = async ({ verb, point }) => {
      if (verb !== 'apply') return;
      (point === 'before' ? sent : arrived)?.resolve();
      await (point === 'before' ? arrives?.promise : new Promise(() => undefined));
    };
    void memoryWorld(controller, { cluster, store, clock: new FakeClock() }).ring({}, 'first');
    await sent?.promise;

    cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 0 } }));
    clock.advance(10_000);
    const successor = memoryWorld(controller, { cluster, store, clock });
    await drive(clock, successor.ring({}, 'second'));

    arrives?.resolve();
    await arrived?.promise;
    const made = cluster.objects().find(({ kind }) => kind === 'ConfigMap');
    assert(made !== undefined, 'the late create did not arrive: the test shows nothing');
    const { uid, resourceVersion } = made.metadata;
    await drive(clock, successor.ring({ news: { kind: 'versions', versions: [{ uid, resourceVersion }] } }));
    assert.deepEqual(
      cluster.objects().map(({ kind }) => kind),
      ['Widget'],
    );
  });
});
