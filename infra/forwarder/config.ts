import { z } from 'zod';
import { type Environment, parseEnvironment } from '../../shared/adapters/zod/environment.ts';
import { COMMON_SETTINGS } from '../../shared/adapters/zod/settings.ts';

const Config = z.object({
  ...COMMON_SETTINGS,
  /** Of the health endpoints; 0 takes a free one, which the log names. */
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'expected a port number')
    .transform(Number)
    .refine((port) => port <= 65_535, 'expected a port number up to 65535')
    .default(8080),
  /**
   * Whether this process also rings alarms at their time. Needs access to the store: it reads alarms, and leaves one
   * marker. `sweep` rings them anyway.
   */
  DRIFTLESS_ALARM_CLOCK: z.enum(['on', 'off']).default('off'),
  /** The most that the alarm clock rings. */
  DRIFTLESS_ALARMS_PER_SECOND: z.coerce.number().int().min(1).max(10_000).default(500),
  /** Messages of one tenant (a namespace) that go before the background: those of a second at once, then evenly. */
  DRIFTLESS_TENANT_PER_SECOND: z.coerce.number().int().min(1).max(10_000).default(20),
  /** What is over its tenant's budget and goes to the background, of all tenants together. */
  DRIFTLESS_DEMOTED_PER_SECOND: z.coerce.number().int().min(1).max(10_000).default(100),
});

export type ForwarderConfig = z.infer<typeof Config>;

/** The settings of the forwarder, from the environment. @throws {ConfigError} with every problem at once */
export function readConfig(env: Environment = process.env): ForwarderConfig {
  return parseEnvironment('the environment of the forwarder', Config, env);
}
