/**
 * Stands in for Pub/Sub's push subscriptions and Cloud Scheduler on a laptop.
 *
 * The emulator's own push is slow (two requests at a time) and leaves out deliveryAttempt, retry policy and filters;
 * so this process pulls, and pushes in production's exact format. It knows nothing of what the messages mean.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLogger } from '../../../shared/adapters/pino/logger.ts';
import { subscriptionId } from '../../../shared/adapters/pubsub/names.ts';
import { SystemClock } from '../../../shared/adapters/system/clock.ts';
import { ConfigError } from '../../../shared/errors.ts';
import type { Queue } from '../../../shared/ports/broker.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import { type Route, runBridge } from './bridge.ts';
import { type BridgeConfig, readConfig } from './config.ts';
import { openEmbeddedSource } from './embedded-source.ts';
import { Instances } from './instances.ts';
import { openPubSubSource } from './pubsub-source.ts';
import { createPusher } from './push.ts';
import { runScheduler } from './scheduler.ts';
import type { Source } from './source.ts';

const stopping = new AbortController();
for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => stopping.abort());

try {
  await run(readConfig(process.env), stopping.signal);
  process.exit(0);
} catch (error) {
  if (stopping.signal.aborted && error === stopping.signal.reason) process.exit(0);
  if (error instanceof ConfigError) {
    console.error(error.message);
    process.exit(2);
  }
  createLogger({ component: 'push-bridge' }).error('push bridge failed', { error });
  process.exit(1);
}

async function run(config: BridgeConfig, signal: AbortSignal): Promise<void> {
  const clock = new SystemClock();
  const logger = createLogger({ component: 'push-bridge', level: config.DRIFTLESS_LOG_LEVEL });
  const source = await openSource(config, clock);
  await source.prepare(signal);
  const health = await serveReadyz(config.DRIFTLESS_BRIDGE_PORT);
  logger.info('push bridge ready', { port: (health.address() as AddressInfo).port });
  const pusher = createPusher();
  const bridge = runBridge(
    { projectId: config.GOOGLE_CLOUD_PROJECT, source, pusher, clock, logger },
    routesOf(config),
    signal,
  );
  const { DRIFTLESS_SWEEP_URL: url, DRIFTLESS_SWEEP_EVERY_MS: everyMs } = config;
  const scheduler = url === undefined ? undefined : runScheduler({ url, everyMs, pusher, clock, logger }, signal);

  await Promise.all([bridge, scheduler]);
  health.close();
  await pusher.close();
  await source.close();
}

async function openSource(config: BridgeConfig, clock: Clock): Promise<Source> {
  if (config.DRIFTLESS_EMBEDDED_URL !== undefined)
    return openEmbeddedSource({ url: config.DRIFTLESS_EMBEDDED_URL, clock });
  return await openPubSubSource({
    projectId: config.GOOGLE_CLOUD_PROJECT,
    emulatorHost: config.PUBSUB_EMULATOR_HOST ?? '',
    prefix: config.DRIFTLESS_TOPIC_PREFIX,
  });
}

function routesOf(config: BridgeConfig): readonly Route[] {
  const route = (queue: Queue, instances: Instances, concurrency: number) => ({
    queue,
    instances,
    concurrency,
    subscription: subscriptionId(config.DRIFTLESS_TOPIC_PREFIX, queue),
    ackDeadlineMs: config.DRIFTLESS_ACK_DEADLINE_SECONDS * 1_000,
    minimumBackoffMs: config.DRIFTLESS_MINIMUM_BACKOFF_MS,
    maximumBackoffMs: config.DRIFTLESS_MAXIMUM_BACKOFF_MS,
  });
  const { DRIFTLESS_MAX_DELIVERY_ATTEMPTS: maxDeliveryAttempts, DRIFTLESS_DEAD_LETTER_URL: deadLetterUrl } = config;
  const reconcile = new Instances(config.DRIFTLESS_PUSH_URL);
  return [
    { ...route('changes', reconcile, config.DRIFTLESS_CHANGES_CONCURRENCY), maxDeliveryAttempts },
    { ...route('background', reconcile, config.DRIFTLESS_BACKGROUND_CONCURRENCY), maxDeliveryAttempts },
    ...(deadLetterUrl === undefined ? [] : [route('dead-letter', new Instances([deadLetterUrl]), 1)]),
  ];
}

function serveReadyz(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((request, response) => {
      response.writeHead(request.url === '/readyz' ? 200 : 404).end();
    });
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
