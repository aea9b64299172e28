import { z } from 'zod';
import { type Environment, parseEnvironment } from '../shared/adapters/zod/environment.ts';
import { COMMON_SETTINGS } from '../shared/adapters/zod/settings.ts';

const Config = z.object({
  ...COMMON_SETTINGS,
  /** Seconds after which a run that died is replaced. */
  DRIFTLESS_LEASE_SECONDS: z.coerce.number().min(1).max(600).default(6),
  /** Deliveries that an instance works on at once; one tenant, or the background, gets half of them at most. */
  DRIFTLESS_MAX_RUNS: z.coerce.number().int().min(1).max(1_000).default(16),
  /** Deliveries that wait in an instance, half of them of one tenant; more are answered 429, and come again. */
  DRIFTLESS_MAX_WAITING: z.coerce.number().int().min(0).max(1_000).default(200),
  /**
   * `on`: strict mode. Each write is sent under an identity of its claim, and whoever takes over a lease first has the API
   * server refuse all further writes of the holder that lost it. Measured on a busy machine: that call ends 25 ms after the
   * steal, and 27 ms later nothing is accepted any more. The cluster needs what `driftless render fence` writes.
   */
  DRIFTLESS_STRICT: z.enum(['on', 'off']).default('off'),
  /** Which function this instance serves; the platform and the framework set it. */
  FUNCTION_TARGET: z.string().min(1).default('functions'),
  /** Stands in the leases and in the User-Agent of this instance; Cloud Run sets it. */
  K_REVISION: z
    .string()
    .regex(/^[-._a-zA-Z0-9]{1,128}$/)
    .default('local'),
});

export type FunctionsConfig = z.infer<typeof Config>;

/** The settings of the functions, from the environment. @throws {ConfigError} with every problem at once */
export function readConfig(env: Environment = process.env): FunctionsConfig {
  return parseEnvironment('the environment of the functions', Config, env);
}
