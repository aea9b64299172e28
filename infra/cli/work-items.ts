import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import type { Publisher } from '../../shared/ports/broker.ts';
import type { WorkStore } from '../../shared/ports/work-store.ts';
import { WorkQueue } from '../../shared/queue/work-queue.ts';
import { openPublisher, openWorkStore } from '../../shared/roots/backends.ts';
import type { CliConfig } from './config.ts';

/** Broker and store, as a person reaches them from outside. */
export interface WorkItems {
  readonly store: WorkStore;
  readonly queue: WorkQueue;
  readonly publisher: Publisher;
}

/** Connects to broker and store for as long as `use` takes. Each connects at its first call. */
export async function withWorkItems<T>(
  config: CliConfig,
  cluster: string,
  use: (items: WorkItems) => Promise<T>,
): Promise<T> {
  const [clock, random] = [new SystemClock(), new SystemRandom()];
  const guardOf = (name: string) => createGuard({ name, timeoutMs: 10_000, retry: RETRY });
  const store = openWorkStore(config, { clusters: [cluster], random, guard: guardOf('Firestore') });
  const publisher = openPublisher(config, guardOf('Pub/Sub'));
  const queue = new WorkQueue({ store, clock, random, holderIdentity: 'cli' });
  try {
    return await use({ store, queue, publisher });
  } finally {
    await Promise.all([store.close(), publisher.close()]);
  }
}

const RETRY = { maxAttempts: 3, maxDelayMs: 250 };
