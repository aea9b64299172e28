import { z } from 'zod';
import { type Environment, parseEnvironment } from '../../../shared/adapters/zod/environment.ts';

export type EmbeddedConfig = z.infer<typeof Settings>;

/** @throws {ConfigError} with every problem at once */
export function readConfig(env: Environment): EmbeddedConfig {
  return parseEnvironment('the environment of the embedded server', Settings, env);
}

const Settings = z.object({
  /** 0: any free port. */
  DRIFTLESS_EMBEDDED_PORT: z.coerce.number().int().min(0).max(65_535),
  /** Messages that the broker holds at most. */
  DRIFTLESS_BROKER_CAPACITY: z.coerce.number().int().min(1).max(10_000_000).default(100_000),
  DRIFTLESS_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
});
