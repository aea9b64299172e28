import { createGuard } from '../shared/adapters/cockatiel/guard.ts';
import { EmbeddedPublisher } from '../shared/adapters/embedded/publisher.ts';
import { EmbeddedWorkStore } from '../shared/adapters/embedded/work-store.ts';
import { openFirestoreWorkStore } from '../shared/adapters/firestore/work-store.ts';
import { connectKubernetes } from '../shared/adapters/kubernetes/connect.ts';
import { createLogger } from '../shared/adapters/pino/logger.ts';
import { PubSubPublisher } from '../shared/adapters/pubsub/publisher.ts';
import { SystemClock } from '../shared/adapters/system/clock.ts';
import { SystemRandom } from '../shared/adapters/system/random.ts';
import type { Publisher } from '../shared/ports/broker.ts';
import type { Random } from '../shared/ports/random.ts';
import type { WorkStore } from '../shared/ports/work-store.ts';
import { WorkQueue } from '../shared/queue/work-queue.ts';
import type { Runtime } from '../shared/reconcile/runtime.ts';
import type { FunctionsConfig } from './config.ts';
import { controllers } from './controllers/index.ts';

export interface BuiltRuntime {
  readonly runtime: Runtime;
  /** Loads the libraries that the first request would wait for, all at once. */
  prepare(): Promise<void>;
  /** Sends what is buffered, and ends connections. */
  close(): Promise<void>;
}

/** The production adapters, bounded by policies, as the settings say. Connects to nothing yet. */
export function buildRuntime(config: FunctionsConfig): BuiltRuntime {
  const [clock, random] = [new SystemClock(), new SystemRandom()];
  const log = createLogger({ component: config.FUNCTION_TARGET, level: config.LOG_LEVEL });
  const kubernetes = connectKubernetes({
    credentials:
      config.KUBECONFIG === undefined ? { kind: 'inCluster' } : { kind: 'kubeconfig', path: config.KUBECONFIG },
    // A dead API server fails fast, and costs neither time nor money while its breaker is open.
    guard: createGuard({
      name: 'API server',
      timeoutMs: 10_000,
      retry: { maxAttempts: 3, maxDelayMs: 250 },
      breaker: { failures: 5, halfOpenAfterMs: 1_000 },
      bulkhead: { concurrency: 64, queue: 1_000 },
    }),
    random,
  });
  const store = openStore(config, random);
  const publisher = openPublisher(config);
  const queue = new WorkQueue({
    store,
    clock,
    random,
    holderIdentity: `${config.K_REVISION}/${random.id()}`,
    leaseDurationMs: config.DRIFTLESS_LEASE_SECONDS * 1_000,
  });
  return {
    runtime: {
      queue,
      clusters: new Map([[config.DRIFTLESS_CLUSTER, kubernetes.cluster]]),
      controllers: new Map(controllers.map((controller) => [controller.name, controller])),
      publisher,
      clock,
      random,
      log,
    },
    async prepare() {
      await Promise.all([kubernetes.prepare(), store.prepare?.()]);
    },
    async close() {
      await Promise.all([publisher.close(), kubernetes.close(), store.close()]);
    },
  };
}

function openStore(config: FunctionsConfig, random: Random): ClosableStore {
  const { DRIFTLESS_EMBEDDED_URL: url, DRIFTLESS_CLUSTER: cluster } = config;
  if (url !== undefined) return new EmbeddedWorkStore({ url });
  return openFirestoreWorkStore({
    projectId: config.GOOGLE_CLOUD_PROJECT,
    clusters: [cluster],
    random,
    guard: createGuard({
      name: 'Firestore',
      timeoutMs: 5_000,
      // A retried swap that had succeeded unseen finds itself beaten; the queue reads again and decides anew.
      retry: { maxAttempts: 3, maxDelayMs: 250 },
      breaker: { failures: 5, halfOpenAfterMs: 1_000 },
      bulkhead: { concurrency: 128, queue: 1_000 },
    }),
  });
}

interface ClosableStore extends WorkStore {
  prepare?(): Promise<void>;
  close(): Promise<void>;
}

function openPublisher(config: FunctionsConfig): Publisher {
  const { DRIFTLESS_EMBEDDED_URL: url, PUBSUB_EMULATOR_HOST: emulatorHost } = config;
  if (url !== undefined) return new EmbeddedPublisher({ url });
  return new PubSubPublisher({
    projectId: config.GOOGLE_CLOUD_PROJECT,
    prefix: config.DRIFTLESS_TOPIC_PREFIX,
    ...(emulatorHost === undefined ? {} : { emulatorHost }),
    guard: createGuard({ name: 'Pub/Sub', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 500 } }),
  });
}
