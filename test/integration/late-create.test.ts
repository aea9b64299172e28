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
    const { cluster, clock, store, arrive } = await createUnderWay();
    cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 0 } }));
    clock.advance(10_000);
    const successor = memoryWorld(controller, { cluster, store, clock });
    await drive(clock, successor.ring({}, 'second'));

    assert.equal(await arrive(), 'arrived');
    const made = cluster.objects().find(({ kind }) => kind === 'ConfigMap');
    assert(made !== undefined, 'the late create did not arrive: the test shows nothing');
    const { uid, resourceVersion } = made.metadata;
    await drive(clock, successor.ring({ news: { kind: 'versions', versions: [{ uid, resourceVersion }] } }));
    assert.deepEqual(
      cluster.objects().map(({ kind }) => kind),
      ['Widget'],
    );
  });

  it('R22: in strict mode brings back no child, and is a lost lease', async () => {
    const { cluster, clock, store, arrive } = await createUnderWay({ strict: true });
    cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 0 } }));
    clock.advance(10_000);
    await drive(clock, memoryWorld(controller, { cluster, store, clock }).ring({}, 'second'));
    assert.equal(await arrive(), 'refused');
    assert.deepEqual(
      cluster.objects().map(({ kind }) => kind),
      ['Widget'],
    );
  });

  it('R22: changes nothing of the child that the successor has made', async () => {
    const { cluster, clock, store, arrive } = await createUnderWay();
    cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 2 } }));
    clock.advance(10_000);
    await drive(clock, memoryWorld(controller, { cluster, store, clock }).ring({}, 'second'));
    const made = cluster.objects().find(({ kind }) => kind === 'ConfigMap');
    assert.deepEqual(made?.['data'], { size: '2' });

    assert.equal(await arrive(), 'refused');
    assert.deepEqual(
      cluster.objects().find(({ kind }) => kind === 'ConfigMap'),
      made,
    );
  });
});

/** A Widget of size 1, and a first worker that is never heard of again once it has sent its create. */
async function createUnderWay({ strict = false } = {}) {
  const cluster = new MemoryCluster({ strict });
  const [clock, itsClock] = [new FakeClock(), new FakeClock()];
  const store = new MemoryWorkStore({ clock });
  cluster.create(Widget, {
    apiVersion: 'test.driftless.dev/v1',
    kind: 'Widget',
    metadata: { ...KEY },
    spec: { size: 1 },
  });
  const [sent, arrives] = [0, 0].map(() => Promise.withResolvers<void>());
  const { promise: arrived, resolve } = Promise.withResolvers<'arrived' | 'refused'>();
  cluster.intercept = async ({ verb, point }) => {
    if (verb !== 'create' || point !== 'before') return;
    sent?.resolve();
    await arrives?.promise;
  };
  const first = memoryWorld(controller, { cluster, store, clock: itsClock }).ring({}, 'first');
  await sent?.promise;
  cluster.intercept = undefined;
  return {
    cluster,
    clock,
    store,
    arrive: () => {
      cluster.intercept = async ({ verb, point }) => {
        if (verb === 'create' && point === 'after') resolve('arrived');
        if (verb === 'get') resolve('refused');
        await new Promise(() => undefined);
      };
      // Whoever was refused looks again, or gives up.
      first.then(
        () => resolve('refused'),
        () => resolve('refused'),
      );
      arrives?.resolve();
      return drive(itsClock, arrived).then((how) => {
        cluster.intercept = undefined;
        return how;
      });
    },
  };
}
