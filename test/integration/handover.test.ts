import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { reconcileOnce } from '../../shared/reconcile/run.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { memoryWorld } from '../support/memory-runtime.ts';
import { Widget, widgetController } from '../support/objects.ts';

const { signal } = new AbortController();

/** A run that hangs in its first write, in a process that is told to end. */
async function interrupted() {
  const cluster = new MemoryCluster();
  const clock = new FakeClock();
  const store = new MemoryWorkStore({ clock });
  cluster.create(Widget, {
    apiVersion: 'test.driftless.dev/v1',
    kind: 'Widget',
    metadata: { namespace: 'default', name: 'w' },
    spec: { size: 3 },
  });
  const ending = new AbortController();
  cluster.intercept = async ({ verb, point }) => {
    if (verb !== 'create' || point !== 'before') return;
    ending.abort(new Error('the instance is terminating'));
    ending.signal.throwIfAborted();
  };
  const first = memoryWorld(widgetController(), { cluster, store, clock });
  const doorbell = { key: first.key, news: { kind: 'unknown' }, trigger: 'test' } as const;
  const delivery = { messageId: 'm1', deliveryAttempt: 1, topic: 'changes', doorbell } as const;
  await assert.rejects(reconcileOnce(delivery, first.runtime, ending.signal), /the instance is terminating/);
  cluster.intercept = async () => undefined;
  const stored = async () => (await store.read(first.key, signal)).item;
  return { first, successor: memoryWorld(widgetController(), { cluster, store, clock }), cluster, stored };
}

describe('a process that is told to end during a run', () => {
  it('R22: frees the object at once, and rings for it', async () => {
    const { first, stored } = await interrupted();
    const item = await stored();
    assert.equal(item?.lease, null);
    assert.equal(item?.alarm?.reason, 'handover');
    assert.equal(item?.failures, 0);
    assert.deepEqual(
      first.bell.rung.map(({ topic, doorbell }) => [topic, doorbell.news, doorbell.trigger]),
      [['changes', { kind: 'alarm' }, 'handover']],
    );
  });

  it('I4: whoever gets that ring does what was left, and the message that comes again finds nothing to do', async () => {
    const { successor, cluster, stored } = await interrupted();
    assert.deepEqual(await successor.ring({ news: { kind: 'alarm' } }), { kind: 'reconciled', ack: true });
    const [widget, child] = cluster.objects();
    assert.deepEqual(child?.['data'], { size: '3' });
    assert.equal((await stored())?.alarm, null);
    const { uid = '', resourceVersion = '' } = widget?.metadata ?? {};
    const again = await successor.ring({ news: { kind: 'versions', versions: [{ uid, resourceVersion }] } }, 'm1');
    assert.deepEqual(again, { kind: 'no-news', ack: true });
  });
});
