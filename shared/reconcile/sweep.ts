import { formatItemKey, wasLeft } from '../queue/work-item.ts';
import type { Runtime } from './runtime.ts';

/** At most this many alarms are rung by one sweep; the next one takes the rest. */
const LIMIT = 500;

/**
 * Rings every alarm that is due: retries, requeues, and the expired leases of runs that died. So losing every message
 * still loses no work.
 *
 * @returns how many were rung
 */
export async function sweep({ queue, publisher, log }: Runtime, signal: AbortSignal): Promise<number> {
  const due = await queue.due(LIMIT, signal);
  await Promise.all(
    due.map(({ key, reason }) => {
      // What is owed to somebody's change is rung by the alarm clock, which knows the tenants' budgets.
      const topic = wasLeft(reason) ? 'changes' : 'background';
      return publisher.publish(topic, { key, news: { kind: 'alarm' }, trigger: 'alarm' });
    }),
  );
  const oldest = due.slice(0, 3).map(({ key }) => formatItemKey(key));
  if (due.length > 0) log.info('alarms rung', { count: due.length, oldest });
  return due.length;
}
