import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TerminalError, TransientError } from '../../shared/errors.ts';
import { ConfigMap } from '../../shared/kube/builtin.ts';
import type { Condition } from '../../shared/kube/conditions.ts';
import type { KubeObject, Stored } from '../../shared/kube/object.ts';
import { type Plan, type PlanInput, plan } from '../../shared/reconcile/controller.ts';
import { requeueAfter } from '../../shared/reconcile/result.ts';
import { sweep } from '../../shared/reconcile/sweep.ts';
import { drive } from '../support/drive.ts';
import { memoryWorld, type World } from '../support/memory-runtime.ts';
import { configMap, Widget, type WidgetObject, widgetController } from '../support/objects.ts';

const KEY = { namespace: 'default', name: 'w' };
const CHILD = { namespace: 'default', name: 'w-cm' };
const signal = new AbortController().signal;

function createWidget(world: World, size = 1): Stored<WidgetObject> {
  return world.cluster.create(Widget, {
    apiVersion: 'test.driftless.dev/v1',
    kind: 'Widget',
    metadata: { ...KEY },
    spec: { size },
  });
}

/** All requests of the cluster port, as `apply ConfigMap default/w-cm`. */
function requestsOf(world: World): string[] {
  const requests: string[] = [];
  world.cluster.intercept = ({ verb, target, point }) => {
    if (point === 'before') requests.push(`${verb} ${target}`);
  };
  return requests;
}

async function conditionsOf(world: World): Promise<readonly Condition[]> {
  const object = await world.cluster.get(Widget, KEY, signal);
  return (object?.status?.['conditions'] ?? []) as readonly Condition[];
}

async function childOf(world: World): Promise<Stored<KubeObject> | undefined> {
  return world.cluster.get(ConfigMap, CHILD, signal);
}

describe('reconcileOnce', () => {
  it('R3: makes what the plan says, tells the status, and then has nothing left to do', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world, 7);
    assert.deepEqual(await world.ring(), { kind: 'reconciled', ack: true });

    const child = await childOf(world);
    assert.deepEqual(child?.['data'], { size: '7' });
    assert.equal(child?.metadata.ownerReferences?.[0]?.name, 'w');
    const widget = await world.cluster.get(Widget, KEY, signal);
    assert.equal(widget?.status?.['size'], 7);
    assert.equal(widget?.status?.['observedGeneration'], 1);

    const requests = requestsOf(world);
    await world.ring();
    assert.deepEqual(requests, ['get Widget.test.driftless.dev default/w', 'get ConfigMap default/w-cm']);
  });

  it('R4: answers the echo of its own writes without asking the API server', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    await world.ring();
    const requests = requestsOf(world);
    const versions = world.cluster
      .objects()
      .map(({ metadata: { uid, resourceVersion } }) => ({ uid, resourceVersion }));
    assert.equal(versions.length, 2);
    assert.deepEqual(await world.ring({ news: { kind: 'versions', versions } }), { kind: 'no-news', ack: true });
    assert.deepEqual(await world.ring({ news: { kind: 'census', versions } }), { kind: 'no-news', ack: true });
    assert.deepEqual(requests, []);
  });

  it('P22: a census that lacks a child is news: the child was deleted while nobody watched', async () => {
    const world = memoryWorld(widgetController());
    const { metadata } = createWidget(world);
    await world.ring();
    world.cluster.remove(ConfigMap, CHILD);
    const { resourceVersion } = (await world.cluster.get(Widget, KEY, signal))?.metadata ?? metadata;
    const census = { kind: 'census', versions: [{ uid: metadata.uid, resourceVersion }] } as const;
    assert.deepEqual(await world.ring({ news: census }), { kind: 'reconciled', ack: true });
    assert.notEqual(await childOf(world), undefined);
  });

  it('R9: takes back what a person changed with kubectl', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world, 7);
    await world.ring();
    world.cluster.edit(ConfigMap, CHILD, 'kubectl-edit', (o) => ({ ...o, data: { size: '99' } }));
    await world.ring();
    assert.deepEqual((await childOf(world))?.['data'], { size: '7' });
  });

  it('R9, P34: leaves a field to another controller, and says who holds it', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world, 7);
    await world.ring();
    world.cluster.edit(ConfigMap, CHILD, 'other-operator', (o) => ({ ...o, data: { size: '99' } }));
    await drive(world.clock, world.ring());
    assert.deepEqual((await childOf(world))?.['data'], { size: '99' });
    const contended = (await conditionsOf(world)).find(({ type }) => type === 'Contended');
    assert.equal(contended?.status, 'True');
    assert.match(contended?.message ?? '', /data\.size belongs to other-operator/);
  });

  it('R3: releases a field that the plan no longer names', async () => {
    const keep = widgetController(({ object }) =>
      plan({ children: [configMap('w-cm', object.spec.size === 1 ? { a: '1', b: '2' } : { a: '1' })] }),
    );
    const world = memoryWorld(keep);
    createWidget(world, 1);
    await world.ring();
    world.cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 2 } }));
    await world.ring();
    assert.deepEqual((await childOf(world))?.['data'], { a: '1' });
  });

  it('prunes a child that the plan no longer names, and nothing that is not its own', async () => {
    const maybe = widgetController(({ object }) =>
      plan({ children: object.spec.size > 0 ? [configMap('w-cm', { k: 'v' })] : [] }),
    );
    const world = memoryWorld(maybe);
    createWidget(world, 1);
    world.cluster.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { ...CHILD, name: 'foreign' } });
    await world.ring();
    world.cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 0 } }));
    await world.ring();
    assert.deepEqual(
      world.cluster.objects().map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      ['Widget w', 'ConfigMap foreign'],
    );
  });

  it("does not touch an object of the child's name that somebody else made", async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    world.cluster.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: CHILD, data: { mine: 'yes' } });
    await drive(world.clock, world.ring());
    assert.deepEqual((await childOf(world))?.['data'], { mine: 'yes' });
    const [condition] = (await conditionsOf(world)).filter(({ type }) => type === 'Reconciling');
    assert.equal(condition?.reason, 'ChildNotOwned');
    assert.match(condition?.message ?? '', /ConfigMap default\/w-cm exists and was made by somebody else/);
  });

  it('R13: stops at a terminal error, says so, and resumes with a new generation', async () => {
    const refuses = widgetController(({ object }: PlanInput<WidgetObject>): Plan => {
      const name = object.spec.size > 1 ? 'w-cm' : 'w-cm';
      const namespace = object.spec.size > 1 ? 'default' : 'elsewhere';
      return plan({ children: [configMap(name, { k: 'v' }, { namespace })] });
    });
    const world = memoryWorld(refuses);
    createWidget(world, 1);
    await world.ring();
    const stalled = (await conditionsOf(world)).find(({ type }) => type === 'Stalled');
    assert.equal(stalled?.status, 'True');
    assert.equal(stalled?.reason, 'CrossNamespaceChild');
    assert.deepEqual(await world.ring(), { kind: 'quarantined', ack: true });

    world.cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size: 2 } }));
    assert.deepEqual(await world.ring({ generation: 2 }), { kind: 'reconciled', ack: true });
    assert.deepEqual(
      (await conditionsOf(world)).map(({ type, status }) => `${type}=${status}`),
      ['Ready=False'],
    );
    assert.notEqual(await childOf(world), undefined);
  });

  it('R13: is not stopped for good before the object was told why', async () => {
    const world = memoryWorld(
      widgetController(() => {
        throw new TerminalError('INVALID_SIZE', 'a Widget cannot be of this size');
      }),
    );
    createWidget(world);
    world.cluster.intercept = ({ verb }) => {
      if (verb === 'patchStatus') throw new TransientError('UNAVAILABLE', 'no answer');
    };
    await drive(world.clock, world.ring());
    const { item } = await world.store.read(world.key, new AbortController().signal);
    assert.deepEqual([item?.quarantine, item?.alarm?.reason], [null, 'backoff']);

    world.cluster.intercept = undefined;
    world.clock.advance(1_000);
    await world.ring({ news: { kind: 'alarm' } });
    assert.equal((await conditionsOf(world)).find(({ type }) => type === 'Stalled')?.reason, 'InvalidSize');
    assert.deepEqual(await world.ring(), { kind: 'quarantined', ack: true });
  });

  it('P40: looks again when the world moves between its read and its write, and calls that no failure', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world, 7);
    await world.ring();
    world.cluster.edit(ConfigMap, CHILD, 'kubectl-edit', (o) => ({ ...o, data: { size: '99' } }));
    let edits = 0;
    world.cluster.intercept = ({ verb, target, point }) => {
      if (verb !== 'apply' || target !== 'ConfigMap default/w-cm' || point !== 'before' || edits >= 3) return;
      edits += 1;
      world.cluster.edit(ConfigMap, CHILD, 'labeller', (o) => ({
        ...o,
        metadata: { ...o.metadata, labels: { round: String(edits) } },
      }));
    };
    await world.ring();
    const child = await childOf(world);
    assert.deepEqual(child?.['data'], { size: '7' });
    assert.deepEqual(child?.metadata.labels, { round: '3' });
    assert.equal((await world.store.read(world.key, signal)).item?.failures, 0);
  });

  it('R5: leaves status fields and conditions of others alone', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    const foreign = {
      type: 'Paid',
      status: 'True',
      reason: 'R',
      message: 'm',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    world.cluster.edit(Widget, KEY, 'billing', (o) => ({ ...o, status: { invoice: 5, conditions: [foreign] } }));
    await world.ring();
    const status = (await world.cluster.get(Widget, KEY, signal))?.status;
    assert.equal(status?.['invoice'], 5);
    assert.deepEqual(
      (await conditionsOf(world)).map(({ type }) => type),
      ['Paid', 'Ready'],
    );
  });

  it('P25: a status that differs at each run causes no second run by itself', async () => {
    let runs = 0;
    const restless = widgetController(() => {
      runs += 1;
      return plan({ status: { runs } });
    });
    const world = memoryWorld(restless);
    createWidget(world);
    await world.ring();
    const { uid = '', resourceVersion = '' } = (await world.cluster.get(Widget, KEY, signal))?.metadata ?? {};
    const echo = { kind: 'versions', versions: [{ uid, resourceVersion }] } as const;
    assert.deepEqual(await world.ring({ news: echo }), { kind: 'no-news', ack: true });
  });

  it('P51: a requeue is an alarm in the store, whatever becomes of this process', async () => {
    const world = memoryWorld(widgetController(() => plan({ result: requeueAfter(600_000) })));
    createWidget(world);
    await world.ring();
    world.clock.advance(599_000);
    assert.deepEqual(await world.store.due(10, signal), []);
    world.clock.advance(2_000);
    assert.deepEqual(await world.store.due(10, signal), [{ key: world.key, reason: 'requeue' }]);
    assert.equal(await sweep(world.runtime, signal), 1);
    assert.equal(world.bell.rung.at(-1)?.topic, 'background');
    assert.deepEqual(await world.ring({ news: { kind: 'alarm' } }), { kind: 'reconciled', ack: true });
  });

  it('R2: retries a short outage inside the run, and stores an alarm for a long one', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    let failing = 3;
    world.cluster.intercept = ({ verb, point }) => {
      if (verb === 'create' && point === 'before' && failing-- > 0) throw new Error('connection reset');
    };
    await drive(world.clock, world.ring());
    assert.notEqual(await childOf(world), undefined);

    world.cluster.intercept = () => {
      throw new Error('connection reset');
    };
    assert.deepEqual(await drive(world.clock, world.ring()), { kind: 'reconciled', ack: true });
    const { item } = await world.store.read(world.key, signal);
    assert.equal(item?.alarm?.reason, 'backoff');
    assert.equal(item?.lastError?.message, 'connection reset');
  });

  it('forgets an object that is gone', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    await world.ring();
    world.cluster.remove(Widget, KEY);
    await world.ring();
    assert.equal((await world.store.read(world.key, signal)).item, undefined);
    assert.deepEqual(world.cluster.objects(), []);
  });

  it('P27: a plan that returns what it observed writes nothing', async () => {
    const mirror = widgetController(({ children }) => {
      const found = children.get(ConfigMap, 'w-cm');
      return plan({ children: [found ?? configMap('w-cm', { k: 'v' })] });
    });
    const world = memoryWorld(mirror);
    createWidget(world);
    await world.ring();
    const requests = requestsOf(world);
    await world.ring();
    assert.deepEqual(requests, ['get Widget.test.driftless.dev default/w', 'get ConfigMap default/w-cm']);
  });

  it('a plan that never comes to rest is stopped, and backs off', async () => {
    let size = 0;
    const world = memoryWorld(
      widgetController(() => plan({ children: [configMap('w-cm', { size: String(++size) })] })),
    );
    createWidget(world);
    await drive(world.clock, world.ring());
    const { item } = await world.store.read(world.key, signal);
    assert.equal(item?.lastError?.code, 'PLAN_UNSTABLE');
    assert.equal(item?.alarm?.reason, 'backoff');
  });
});
