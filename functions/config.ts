import { z } from 'zod';
import { type Environment, parseEnvironment } from '../shared/adapters/zod/environment.ts';

const Config = z.object({
  /** The cluster whose messages this fleet serves, by the id that its forwarder puts into them. */
  DRIFTLESS_CLUSTER: z.string().min(1).default('local'),
  /** Absent in production, where the cluster is reached by its DNS endpoint. */
  KUBECONFIG: z.string().min(1).optional(),
  GOOGLE_CLOUD_PROJECT: z.string().min(1),
  /** Topics are `{prefix}-changes` and `{prefix}-background`. */
  DRIFTLESS_TOPIC_PREFIX: z.string().min(1).default('driftless'),
  /** The Pub/Sub emulator, `127.0.0.1:8085`. Absent: the real service. (Firestore's is read by its library.) */
  PUBSUB_EMULATOR_HOST: z.string().min(1).optional(),
  /** The embedded stand-ins for Pub/Sub and Firestore, where no emulator is to be had. */
  DRIFTLESS_EMBEDDED_URL: z.url().optional(),
  /** Seconds after which a run that died is replaced. */
  DRIFTLESS_LEASE_SECONDS: z.coerce.number().min(1).max(600).default(6),
  /** Which function this instance serves; the platform and the framework set it. */
  FUNCTION_TARGET: z.string().min(1).default('functions'),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Stands in the leases of this instance, for people; Cloud Run sets it. */
  K_REVISION: z.string().min(1).default('local'),
});

export type FunctionsConfig = z.infer<typeof Config>;

/** The settings of the functions, from the environment. @throws {ConfigError} with every problem at once */
export function readConfig(env: Environment = process.env): FunctionsConfig {
  return parseEnvironment('the environment of the functions', Config, env);
}
