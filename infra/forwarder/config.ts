import { z } from 'zod';
import { type Environment, parseEnvironment } from '../../shared/adapters/zod/environment.ts';

const Config = z.object({
  /** The id of this cluster in every message; the functions know it by the same one. */
  DRIFTLESS_CLUSTER: z.string().min(1).default('local'),
  /** Absent: the service account of the pod. */
  KUBECONFIG: z.string().min(1).optional(),
  GOOGLE_CLOUD_PROJECT: z.string().min(1),
  /** Topics are `{prefix}-changes` and `{prefix}-background`. */
  DRIFTLESS_TOPIC_PREFIX: z.string().min(1).default('driftless'),
  /** The Pub/Sub emulator, `127.0.0.1:8085`. Absent: the real service. */
  PUBSUB_EMULATOR_HOST: z.string().min(1).optional(),
  /** The embedded stand-in for Pub/Sub, where no emulator is to be had. */
  DRIFTLESS_EMBEDDED_URL: z.url().optional(),
  LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  /** Of the health endpoints; 0 takes a free one, which the log names. */
  PORT: z
    .string()
    .regex(/^\d{1,5}$/, 'expected a port number')
    .transform(Number)
    .refine((port) => port <= 65_535, 'expected a port number up to 65535')
    .default(8080),
});

export type ForwarderConfig = z.infer<typeof Config>;

/** The settings of the forwarder, from the environment. @throws {ConfigError} with every problem at once */
export function readConfig(env: Environment = process.env): ForwarderConfig {
  return parseEnvironment('the environment of the forwarder', Config, env);
}
