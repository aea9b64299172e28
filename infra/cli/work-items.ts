import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { EmbeddedPublisher } from '../../shared/adapters/embedded/publisher.ts';
import { EmbeddedWorkStore } from '../../shared/adapters/embedded/work-store.ts';
import { openFirestoreWorkStore } from '../../shared/adapters/firestore/work-store.ts';
import { PubSubPublisher } from '../../shared/adapters/pubsub/publisher.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import type { Publisher } from '../../shared/ports/broker.ts';
import type { WorkStore } from '../../shared/ports/work-store.ts';
import { WorkQueue } from '../../shared/queue/work-queue.ts';
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
  const store = openStore(config, cluster);
  const publisher = openPublisher(config);
  const queue = new WorkQueue({ store, clock, random, holderIdentity: 'cli' });
  try {
    return await use({ store, queue, publisher });
  } finally {
    await Promise.all([store.close(), publisher.close()]);
  }
}

const RETRY = { maxAttempts: 3, maxDelayMs: 250 };

function openStore(config: CliConfig, cluster: string) {
  const { DRIFTLESS_EMBEDDED_URL: url, GOOGLE_CLOUD_PROJECT: projectId } = config;
  if (url !== undefined) return new EmbeddedWorkStore({ url });
  const guard = createGuard({ name: 'Firestore', timeoutMs: 10_000, retry: RETRY });
  return openFirestoreWorkStore({ projectId, clusters: [cluster], random: new SystemRandom(), guard });
}

function openPublisher(config: CliConfig): Publisher {
  const { DRIFTLESS_EMBEDDED_URL: url, PUBSUB_EMULATOR_HOST: emulatorHost } = config;
  if (url !== undefined) return new EmbeddedPublisher({ url });
  return new PubSubPublisher({
    projectId: config.GOOGLE_CLOUD_PROJECT,
    prefix: config.DRIFTLESS_TOPIC_PREFIX,
    ...(emulatorHost === undefined ? {} : { emulatorHost }),
    guard: createGuard({ name: 'Pub/Sub', timeoutMs: 10_000, retry: RETRY }),
  });
}
