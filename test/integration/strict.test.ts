import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type ClusterCall, MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { TransientError } from '../../shared/errors.ts';
import type { KubeObject } from '../../shared/kube/object.ts';
import { drive } from '../support/drive.ts';
import { memoryWorld, type World } from '../support/memory-runtime.ts';
import { Widget, widgetController } from '../support/objects.ts';

const { signal } = new AbortController();

/** A Widget in strict mode, and all calls that arrive at its cluster. */
function strictWorld(): { readonly world: World; readonly calls: string[] } {
  const cluster = new MemoryCluster({ strict: true });
  const world = memoryWorld(widgetController(), { cluster });
  const widget: KubeObject = {
    apiVersion: 'test.driftless.dev/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'default' },
  };
  cluster.create(Widget, { ...widget, spec: { size: 1 } });
  const calls: string[] = [];
  cluster.intercept = noting(calls);
  return { world, calls };
}

function noting(calls: string[]): (call: ClusterCall) => void {
  return ({ verb, target, point }) =>
    void (point === 'before' && calls.push(verb === 'fence' ? `fence ${target}` : verb));
}

/** A claim of somebody who is not heard of again, until its lease is over. @returns its holderIdentity */
async function dead({ runtime, key, clock }: World): Promise<string> {
  const doorbell = { key, news: { kind: 'unknown' }, trigger: 'test' } as const;
  const answered = await runtime.queue.answer(doorbell, `dead-${clock.monotonic()}`, signal);
  assert(answered.kind === 'claimed');
  clock.advance(10_000);
  return answered.claim.item.lease.holderIdentity;
}

describe('strict mode', () => {
  it('R22: a thief keeps out who lost the lease before it takes it, and nobody else costs a call', async () => {
    const { world, calls } = strictWorld();
    const holder = await dead(world);
    await world.ring();
    assert.deepEqual(calls, [`fence ${holder}`, 'get', 'get', 'create', 'patchStatus']);
    calls.length = 0;
    await world.ring();
    assert.deepEqual(calls, ['get', 'get']);
  });

  it('R22: a thief of a thief keeps both out', async () => {
    const { world, calls } = strictWorld();
    const [first, second] = [await dead(world), await dead(world)];
    await world.ring();
    assert.deepEqual(calls.slice(0, 3), [`fence ${first}`, `fence ${second}`, 'get']);
  });

  it('R22: takes nothing while the fence cannot be reached, and is delivered again', async () => {
    const { world, calls } = strictWorld();
    const holder = await dead(world);
    world.cluster.intercept = ({ verb }) => {
      if (verb === 'fence') throw new TransientError('UNAVAILABLE', 'no answer');
      calls.push(verb);
    };
    await assert.rejects(world.ring(), { code: 'UNAVAILABLE' });
    assert.deepEqual(calls, []);
    const { item } = await world.store.read(world.key, signal);
    assert.deepEqual([item?.lease?.holderIdentity, item?.alarm?.reason], [holder, 'lease']);

    world.cluster.intercept = noting(calls);
    await world.ring();
    assert.equal(calls[0], `fence ${holder}`);
    assert.deepEqual((await world.store.read(world.key, signal)).item?.lease, null);
  });

  it('R22: who is kept out stops at the first refusal', async () => {
    const { world, calls } = strictWorld();
    world.cluster.intercept = async ({ verb, point }) => {
      if (point === 'before') calls.push(verb);
      const { item } = await world.store.read(world.key, signal);
      if (verb === 'create') await world.cluster.fence?.add([item?.lease?.holderIdentity ?? ''], signal);
    };
    await drive(world.clock, world.ring());
    assert.deepEqual(calls, ['get', 'get', 'create', 'fence']);
    assert.equal((await world.store.read(world.key, signal)).item?.lastError?.code, 'LEASE_LOST');
  });
});
