import { createGuard } from '../../../shared/adapters/cockatiel/guard.ts';
import { openFirestoreAlarmSource } from '../../../shared/adapters/firestore/alarm-source.ts';
import { SystemClock } from '../../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../../shared/adapters/system/random.ts';
import { AlarmClock } from '../../../shared/queue/alarm-clock.ts';
import { Bell, LogBook } from '../../support/memory-runtime.ts';
import { until } from '../../support/until.ts';
import { itemKey, workItem } from '../../support/work-items.ts';
import type { Bench } from './store.ts';

const { signal } = new AbortController();

/** A list of its own, so that the alarms of other measurements are not rung. */
const CLUSTER = 'bench-alarms';

/** Alarms set at once; the number of alarms is a multiple of it. */
const LANES = 50;

export interface Alarms {
  readonly alarms: number;
  /** Alarms rung per second, out of so many that were all due at once. */
  readonly perSecond: number;
  /** Alarms rung more than once: none while each is answered within the grace time. */
  readonly twice: number;
  /** How late an alarm was that came up alone. Milliseconds. */
  readonly aloneLateMs: number;
}

/** A clock whose rate the store bounds, and no setting. */
export async function measureAlarms({ store }: Bench, alarms: number): Promise<Alarms> {
  const { nowMs } = await store.read(itemKey({ cluster: CLUSTER }), signal);
  for (let n = 0; n < alarms; n += LANES) {
    await Promise.all(Array.from({ length: LANES }, (_, lane) => set(store, `alarm-${n + lane}`, nowMs - 1)));
  }
  const [clock, publisher] = [new SystemClock(), new Bell()];
  const guard = createGuard({ name: 'Firestore', timeoutMs: 30_000 });
  const source = openFirestoreAlarmSource({ projectId: 'demo-driftless', guard, cluster: CLUSTER, changes: 'poll' });
  const rate = { ringsPerSecond: 10_000 };
  const all = {
    source,
    publisher,
    clock,
    random: new SystemRandom(),
    logger: new LogBook(),
    onGap: () => undefined,
    ...rate,
  };
  const alarmClock = new AlarmClock(all);
  const names = (): ReadonlySet<string> => new Set(publisher.rung.map(({ doorbell }) => doorbell.key.name));
  const stopping = new AbortController();
  const start = performance.now();
  const running = alarmClock.run(stopping.signal);
  try {
    await until('all are rung', async () => names().size >= alarms, { withinMs: 300_000, everyMs: 20 });
    const perSecond = alarms / ((performance.now() - start) / 1_000);
    const twice = publisher.rung.length - names().size;
    await set(store, 'alone', (await store.read(itemKey({ cluster: CLUSTER }), signal)).nowMs + 1_000);
    await until('the one that is left is rung', async () => names().has('alone'));
    return { alarms, perSecond, twice, aloneLateMs: alarmClock.stats().lateMs ?? Number.NaN };
  } finally {
    stopping.abort();
    await running;
    await source.close();
  }
}

async function set(store: Bench['store'], name: string, wakeAt: number): Promise<void> {
  const key = itemKey({ cluster: CLUSTER, name });
  await store.write(workItem({ key, alarm: { wakeAt, reason: 'requeue' } }), undefined, signal);
}
