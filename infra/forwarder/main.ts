/**
 * The forwarder's process: watches the kinds of every controller, and publishes doorbells. Where it is told to, it hosts
 * the alarm clock, too.
 *
 * Ends with 0 after SIGTERM or SIGINT, 2 when the settings are wrong, 1 when something else keeps it from working.
 * A cluster or a broker that is away does not: it waits for them.
 */
import { controllers } from '../../functions/controllers/index.ts';
import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { connectKubernetes } from '../../shared/adapters/kubernetes/connect.ts';
import type { CredentialSource } from '../../shared/adapters/kubernetes/credentials.ts';
import { createLogger } from '../../shared/adapters/pino/logger.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { ConfigError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/ports/logger.ts';
import { TenantBudgets } from '../../shared/queue/tenant-budgets.ts';
import { openPublisher } from '../../shared/roots/backends.ts';
import { Forwarder } from '../../shared/watch/forwarder.ts';
import { hostAlarmClock } from './alarm-clock.ts';
import { type ForwarderConfig, readConfig } from './config.ts';
import { startHealthServer } from './server.ts';

/** Connections that do not close in this time are cut off by the end of the process. */
const CLOSE_MS = 2_000;

try {
  const config = readConfig();
  await forward(config, createLogger({ component: 'forwarder', level: config.LOG_LEVEL }));
  process.exit(0);
} catch (error) {
  const logger = createLogger({ component: 'forwarder' });
  if (error instanceof ConfigError) {
    logger.error('settings are invalid', { problems: error.problems, error });
    process.exit(2);
  }
  logger.error('forwarder cannot work', { error });
  process.exit(1);
}

async function forward(config: ForwarderConfig, logger: Logger): Promise<void> {
  const stop = new AbortController();
  for (const name of ['SIGTERM', 'SIGINT'] as const) {
    process.once(name, () => {
      logger.info('stopping', { signal: name });
      stop.abort();
    });
  }

  const [clock, random] = [new SystemClock(), new SystemRandom()];
  const credentials: CredentialSource =
    config.KUBECONFIG === undefined ? { kind: 'inCluster' } : { kind: 'kubeconfig', path: config.KUBECONFIG };
  const kubernetes = connectKubernetes({
    credentials,
    guard: createGuard({ name: 'API server', timeoutMs: 60_000, bulkhead: { concurrency: 8, queue: 1_000 } }),
    random,
  });
  const publisher = openPublisher(
    config,
    // Retries of long outages are the forwarder's, where what changes meanwhile can be merged.
    createGuard({ name: 'Pub/Sub', timeoutMs: 10_000, retry: { maxAttempts: 2, maxDelayMs: 500 } }),
  );
  // One for both: a tenant's alarms and its changes are counted together.
  const budgets = new TenantBudgets(config.DRIFTLESS_TENANT_PER_SECOND);
  const forwarder = new Forwarder({
    cluster: config.DRIFTLESS_CLUSTER,
    controllers,
    source: kubernetes.metadata,
    publisher,
    clock,
    random,
    logger,
    budgets,
    demotedPerSecond: config.DRIFTLESS_DEMOTED_PER_SECOND,
  });
  const ringAll = (): void => forwarder.ringAll();
  const alarms = hostAlarmClock(config, { publisher, clock, random, logger, budgets, ringAll });
  // Credentials that cannot be read now never will be; without this look the watches would wait for them.
  await Promise.all([kubernetes.prepare(), publisher.prepare?.(), alarms.prepare()]);
  const health = await startHealthServer(config.PORT, () => ({ ...forwarder.stats(), alarms: alarms.stats() }));
  logger.info('forwarder started', {
    cluster: config.DRIFTLESS_CLUSTER,
    controllers: controllers.map(({ name }) => name),
    alarmClock: config.DRIFTLESS_ALARM_CLOCK,
    port: health.port,
  });

  const running = Promise.all([forwarder.run(stop.signal), alarms.run(stop.signal)]);
  await Promise.race([forwarder.synced, running]);
  if (!stop.signal.aborted) logger.info('forwarder synced', { kinds: Object.keys(forwarder.stats().kinds) });
  await running;

  const closing = [publisher.close(), kubernetes.close(), alarms.close(), health.close()];
  await Promise.race([Promise.all(closing), clock.sleep(CLOSE_MS)]);
  logger.info('stopped', { published: forwarder.stats().doorbells.published });
}
