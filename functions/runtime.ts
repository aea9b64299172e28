import { createGuard } from '../shared/adapters/cockatiel/guard.ts';
import { connectKubernetes } from '../shared/adapters/kubernetes/connect.ts';
import { createLogger } from '../shared/adapters/pino/logger.ts';
import { SystemClock } from '../shared/adapters/system/clock.ts';
import { SystemRandom } from '../shared/adapters/system/random.ts';
import { Pace } from '../shared/queue/pace.ts';
import { WorkQueue } from '../shared/queue/work-queue.ts';
import { keepOutOf } from '../shared/reconcile/keep-out.ts';
import type { Runtime } from '../shared/reconcile/runtime.ts';
import { openPublisher, openWorkStore } from '../shared/roots/backends.ts';
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
    strict: config.DRIFTLESS_STRICT === 'on',
  });
  const store = openWorkStore(config, {
    clusters: [config.DRIFTLESS_CLUSTER],
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
  const publisher = openPublisher(
    config,
    createGuard({ name: 'Pub/Sub', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 500 } }),
  );
  const clusters = new Map([[config.DRIFTLESS_CLUSTER, kubernetes.cluster]]);
  const queue = new WorkQueue({
    store,
    clock,
    random,
    keepOut: keepOutOf(clusters, log),
    holderIdentity: `${config.K_REVISION}.${random.id()}`,
    leaseDurationMs: config.DRIFTLESS_LEASE_SECONDS * 1_000,
  });
  return {
    runtime: {
      queue,
      clusters,
      controllers: new Map(controllers.map((controller) => [controller.name, controller])),
      publisher,
      // As controller-runtime has it: 10 a second, and those of ten seconds at once.
      retries: new Pace(10, 10_000),
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
