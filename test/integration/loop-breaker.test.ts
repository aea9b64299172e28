import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Condition } from '../../shared/kube/conditions.ts';
import { plan } from '../../shared/reconcile/controller.ts';
import { sweep } from '../../shared/reconcile/sweep.ts';
import { drive } from '../support/drive.ts';
import { memoryWorld, type World } from '../support/memory-runtime.ts';
import { configMap, Widget, type WidgetObject, widgetController } from '../support/objects.ts';

const KEY = { namespace: 'default', name: 'w' };
const signal = new AbortController().signal;

function createWidget(world: World, name = 'w'): void {
  const widget: WidgetObject = {
    apiVersion: 'test.driftless.dev/v1',
    kind: 'Widget',
    metadata: { namespace: 'default', name },
    spec: { size: 0 },
  };
  world.cluster.create(Widget, widget);
}

async function conditionOf(world: World, type: string): Promise<Condition | undefined> {
  const object = await world.cluster.get(Widget, KEY, signal);
  return ((object?.status?.['conditions'] ?? []) as readonly Condition[]).find((condition) => condition.type === type);
}

/** Sweeps, and delivers what that rang. */
async function ringAlarms(world: World): Promise<void> {
  await drive(world.clock, sweep(world.runtime, signal), 0);
  for (const { doorbell } of world.bell.rung.splice(0)) await drive(world.clock, world.ring(doorbell), 0);
}

describe('an object that never comes to rest', () => {
  it('R2, P25: of 1,000 changes gets 100 runs and one per second, ends right, and says that it is throttled', async () => {
    let runs = 0;
    const world = memoryWorld(
      widgetController(({ object }) => {
        if (object.metadata.name === 'w') runs += 1;
        return plan({ status: { size: object.spec.size } });
      }),
    );
    createWidget(world);
    const answers: Record<string, number> = {};
    for (let size = 1; size <= 1_000; size += 1) {
      const { metadata } = world.cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size } }));
      const { uid, resourceVersion, generation = 0 } = metadata;
      const news = { kind: 'versions', versions: [{ uid, resourceVersion }] } as const;
      const { kind, ack } = await drive(world.clock, world.ring({ uid, generation, news }), 0);
      assert.equal(ack, true);
      answers[kind] = (answers[kind] ?? 0) + 1;
      world.clock.advance(10);
      if (size % 100 === 0) await ringAlarms(world);
    }
    // Ten seconds have passed. A plan without children is asked once per run.
    assert.ok(runs >= 100 && runs <= 110, `${runs} runs`);
    assert.ok((answers['throttled'] ?? 0) >= 880, JSON.stringify(answers));
    const throttled = await conditionOf(world, 'Throttled');
    assert.equal(throttled?.status, 'True');
    assert.equal(throttled.reason, 'TooManyRuns');
    assert.equal(
      throttled.message,
      'It ran 100 times in short order, because it or its children keep changing. ' +
        'It now runs at most once per second, and each run carries out the latest state.',
    );

    world.clock.advance(1_000);
    await ringAlarms(world);
    assert.equal((await world.cluster.get(Widget, KEY, signal))?.status?.['size'], 1_000);

    const before = runs;
    world.clock.advance(12_000);
    await ringAlarms(world);
    assert.equal(runs, before + 1);
    assert.equal(await conditionOf(world, 'Throttled'), undefined);
    assert.equal((await world.store.read(world.key, signal)).item?.alarm, null);
  });

  it('R2: costs one read for each change while it is throttled, and no call of the API server', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    for (let n = 0; n < 101; n += 1) await world.ring();
    let requests = 0;
    world.cluster.intercept = () => {
      requests += 1;
    };
    const { revision } = await world.store.read(world.key, signal);
    for (let n = 0; n < 50; n += 1) assert.deepEqual(await world.ring(), { kind: 'throttled', ack: true });
    assert.equal(requests, 0);
    assert.equal((await world.store.read(world.key, signal)).revision, revision);
  });

  it('P55: delays no other object', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    createWidget(world, 'calm');
    for (let n = 0; n < 101; n += 1) await world.ring();
    assert.deepEqual(await world.ring(), { kind: 'throttled', ack: true });
    const calm = { key: { ...world.key, name: 'calm' } };
    assert.deepEqual(await world.ring(calm), { kind: 'reconciled', ack: true });
  });

  it('P25: a plan that asks to be run again at once is throttled, too', async () => {
    let runs = 0;
    const world = memoryWorld(
      widgetController(() => {
        runs += 1;
        return plan({ result: { kind: 'requeueAfter', delayMs: 1 } });
      }),
    );
    createWidget(world);
    await world.ring();
    for (let ms = 0; ms < 10_000; ms += 10) {
      world.clock.advance(10);
      await ringAlarms(world);
    }
    assert.ok(runs >= 100 && runs <= 111, `${runs} runs`);
  });

  it('R2: what is stopped for good is not called throttled', async () => {
    let namespace = 'default';
    const world = memoryWorld(
      widgetController(({ object }) => plan({ children: [configMap(object.metadata.name, {}, { namespace })] })),
    );
    createWidget(world);
    for (let n = 0; n < 99; n += 1) await world.ring();
    assert.equal((await conditionOf(world, 'Throttled'))?.status, 'True');
    namespace = 'elsewhere';
    await world.ring();
    assert.equal((await conditionOf(world, 'Stalled'))?.status, 'True');
    assert.equal(await conditionOf(world, 'Throttled'), undefined);
  });
});

describe('an object that kills its process', () => {
  /** A process that claims, and is never heard of again. */
  async function dieDuringRun(world: World, doorbell: Parameters<World['ring']>[0]): Promise<string> {
    const ring = { key: world.key, news: { kind: 'alarm' }, trigger: 'alarm', ...doorbell } as const;
    const answered = await world.runtime.queue.answer(ring, `message-${world.clock.now()}`, signal);
    return answered.kind;
  }

  it('P55: is tried five times at once, and then ever more slowly; others are not delayed', async () => {
    const world = memoryWorld(widgetController());
    createWidget(world);
    createWidget(world, 'calm');
    assert.equal(await dieDuringRun(world, { news: { kind: 'unknown' }, generation: 1 }), 'claimed');
    let claims = 1;
    for (let second = 0; second < 3_600; second += 1) {
      world.clock.advance(1_000);
      if ((await world.runtime.queue.due(10, signal)).length === 0) continue;
      if ((await dieDuringRun(world, {})) === 'claimed') claims += 1;
    }
    // At every end of a lease it would have been 600.
    assert.ok(claims >= 20 && claims <= 30, `${claims} claims in an hour`);
    const calm = { key: { ...world.key, name: 'calm' } };
    assert.deepEqual(await world.ring(calm), { kind: 'reconciled', ack: true });

    // The next build copes.
    world.clock.advance(5 * 60_000);
    await ringAlarms(world);
    world.clock.advance(5 * 60_000);
    await ringAlarms(world);
    const { item } = await world.store.read(world.key, signal);
    assert.equal(item?.failures, 0);
    assert.equal(item.unfinished, null);
    assert.equal((await world.cluster.get(Widget, KEY, signal))?.status?.['size'], 0);
  });
});

describe('an object in quarantine', () => {
  it('R13, R23: runs again when a person redrives it, without a change of its spec', async () => {
    let namespace = 'elsewhere';
    const world = memoryWorld(
      widgetController(() => plan({ children: [configMap('w-cm', { k: 'v' }, { namespace })], status: { size: 7 } })),
    );
    createWidget(world);
    await world.ring();
    assert.deepEqual(await world.ring(), { kind: 'quarantined', ack: true });
    namespace = 'default';
    await world.runtime.queue.redrive(world.key, signal);
    assert.deepEqual(await world.ring({ news: { kind: 'alarm' } }), { kind: 'reconciled', ack: true });
    assert.equal((await world.cluster.get(Widget, KEY, signal))?.status?.['size'], 7);
    assert.equal(await conditionOf(world, 'Stalled'), undefined);
  });
});
