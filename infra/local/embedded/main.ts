/**
 * Holds work items and messages in memory for all processes of the local stack, where neither emulator can run.
 *
 * The same in-memory adapters serve the simulation, and are held to the contract suites of the real ones.
 */
import { MemoryBroker } from '../../../shared/adapters/memory/broker.ts';
import { MemoryWorkStore } from '../../../shared/adapters/memory/work-store.ts';
import { createLogger } from '../../../shared/adapters/pino/logger.ts';
import { SystemClock } from '../../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../../shared/adapters/system/random.ts';
import { ConfigError } from '../../../shared/errors.ts';
import { type EmbeddedConfig, readConfig } from './config.ts';
import { startEmbeddedServer } from './server.ts';

try {
  await run(readConfig(process.env));
} catch (error) {
  if (error instanceof ConfigError) {
    console.error(error.message);
    process.exit(2);
  }
  createLogger({ component: 'embedded' }).error('embedded server failed', { error });
  process.exit(1);
}

async function run(config: EmbeddedConfig): Promise<void> {
  const clock = new SystemClock();
  const broker = new MemoryBroker({ clock, random: new SystemRandom(), capacity: config.DRIFTLESS_BROKER_CAPACITY });
  const store = new MemoryWorkStore({ clock });
  const server = await startEmbeddedServer({ store, broker, port: config.DRIFTLESS_EMBEDDED_PORT });
  createLogger({ component: 'embedded', level: config.DRIFTLESS_LOG_LEVEL }).info('embedded server ready', {
    url: server.url,
  });
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => void server.close());
}
