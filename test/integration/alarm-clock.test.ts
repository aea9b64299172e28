import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { type ChangeMode, openFirestoreAlarmSource } from '../../shared/adapters/firestore/alarm-source.ts';
import { openFirestoreWorkStore } from '../../shared/adapters/firestore/work-store.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { AlarmClock } from '../../shared/queue/alarm-clock.ts';
import type { StoreGap } from '../../shared/queue/store-gap.ts';
import type { WorkItem } from '../../shared/queue/work-item.ts';
import { WorkQueue } from '../../shared/queue/work-queue.ts';
import { Bell, LogBook } from '../support/memory-runtime.ts';
import { until } from '../support/until.ts';
import { doorbell, itemKey, report, workItem } from '../support/work-items.ts';

const { FIRESTORE_EMULATOR_HOST: emulator } = process.env;
// The library would look for the metadata server of a Google machine, which costs seconds elsewhere.
Object.assign(process.env, { METADATA_SERVER_DETECTION: 'none' });

/** Cloud Scheduler calls `sweep` once a minute. */
const SWEEP_MS = 60_000;

/** A running clock, and a queue, on the emulator; nobody sweeps, so whatever is rung was rung by the clock. */
async function start(test: TestContext, changes: ChangeMode, projectId = 'demo-driftless') {
  const [clock, random, bell] = [new SystemClock(), new SystemRandom(), new Bell()];
  const cluster = `clock-${process.pid}-${Date.now()}`;
  const connection = { projectId, guard: createGuard({ name: 'Firestore', timeoutMs: 10_000 }) };
  const store = openFirestoreWorkStore({ ...connection, clusters: [cluster], random });
  const source = openFirestoreAlarmSource({ ...connection, cluster, changes });
  const gaps: StoreGap[] = [];
  const alarms = new AlarmClock({
    source,
    publisher: bell,
    clock,
    random,
    logger: new LogBook(),
    onGap: (gap) => gaps.push(gap),
  });
  const stopping = new AbortController();
  const running = alarms.run(stopping.signal);
  test.after(async () => {
    stopping.abort();
    await running;
    await Promise.all([store.close(), source.close()]);
  });
  await until('the clock listens', async () => alarms.stats().views > 0);
  return {
    cluster,
    store,
    bell,
    gaps,
    queue: new WorkQueue({ store, clock, random, holderIdentity: 'test', leaseDurationMs: 1_000 }),
    /** Waits for so many rings, and says how late the last one was. */
    async rings(count: number): Promise<number> {
      await until(`${count} alarms are rung`, async () => bell.rung.length >= count);
      const { lateMs = Number.NaN } = alarms.stats();
      test.diagnostic(`rung ${lateMs} ms after its time`);
      return lateMs;
    },
  };
}

for (const changes of ['listen', 'poll'] as const) {
  describe(`alarm clock on the Firestore emulator, ${changes}`, {
    skip: emulator === undefined && 'FIRESTORE_EMULATOR_HOST is not set',
  }, () => {
    const { signal } = new AbortController();

    it('P51: rings an alarm that is due in 300 ms at its time, long before sweep would', async (test) => {
      const { store, rings, bell, cluster } = await start(test, changes);
      const key = itemKey({ cluster });
      const { nowMs } = await store.read(key, signal);
      const item: WorkItem = workItem({ key, alarm: { wakeAt: nowMs + 300, reason: 'requeue' } });
      assert.equal((await store.write(item, undefined, signal)).kind, 'stored');
      const lateMs = await rings(1);
      assert(lateMs >= 0 && lateMs < SWEEP_MS, `${lateMs} ms`);
      assert.deepEqual(bell.rung, [
        { topic: 'background', doorbell: { key, news: { kind: 'alarm' }, trigger: 'alarm' } },
      ]);
      assert((await store.read(key, signal)).nowMs >= nowMs + 300);
    });

    it('P51: what it rings for is claimed: a requeue, and the lease of a holder that died', async (test) => {
      const { queue, rings, bell, cluster } = await start(test, changes);
      const key = itemKey({ cluster });
      const first = await queue.answer(doorbell({ kind: 'unknown' }, { key }), 'm1', signal);
      assert(first.kind === 'claimed');
      const requeue = report({ kind: 'settled', requeueAfterMs: 200 });
      assert.equal((await queue.complete(first.claim, requeue, { canRerun: false }, signal)).kind, 'wake');
      await rings(1);
      const second = await queue.answer(bell.rung[0]?.doorbell ?? doorbell({ kind: 'alarm' }), 'm2', signal);
      assert.equal(second.kind, 'claimed'); // And dies here.
      await rings(2);
      const third = await queue.answer(bell.rung[1]?.doorbell ?? doorbell({ kind: 'alarm' }), 'm3', signal);
      assert.equal(third.kind, 'claimed');
    });

    it('notices that the database was emptied, however quietly', async (test) => {
      const projectId = `demo-emptied-${changes}-${process.pid}`;
      const { store, gaps, cluster } = await start(test, changes, projectId);
      const item = workItem({ key: itemKey({ cluster }) });
      assert.equal((await store.write(item, undefined, signal)).kind, 'stored');
      const emptied = await fetch(
        `http://${emulator}/emulator/v1/projects/${projectId}/databases/(default)/documents`,
        { method: 'DELETE' },
      );
      assert.equal(emptied.status, 200);
      await until('it is noticed', async () => gaps.length > 0);
      assert.deepEqual(gaps, [{ kind: 'emptied' }]);
      assert.equal((await store.read(item.key, signal)).item, undefined);
    });
  });
}
