import { z } from 'zod';
import { DEFAULT_PREFIX } from '../../../shared/adapters/pubsub/names.ts';
import { type Environment, parseEnvironment } from '../../../shared/adapters/zod/environment.ts';
import { demoProjectProblem } from '../emulators/project.ts';

export type BridgeConfig = z.infer<typeof Settings>;

/** @throws {ConfigError} with every problem at once */
export function readConfig(env: Environment): BridgeConfig {
  return parseEnvironment('the environment of the push bridge', Settings, env);
}

const url = z.url({ protocol: /^https?$/, error: 'must be an http URL' });
const urls = z
  .string()
  .transform((list) => list.split(','))
  .refine((list) => list.every((text) => url.safeParse(text).success), 'must be http URLs with commas between them');
const count = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

const Settings = z
  .object({
    GOOGLE_CLOUD_PROJECT: z
      .string()
      .default('demo-driftless')
      .superRefine((id, context) => {
        const problem = demoProjectProblem(id);
        if (problem !== undefined) context.addIssue(problem);
      }),
    /** The broker: one of these two. */
    PUBSUB_EMULATOR_HOST: z.string().min(1).optional(),
    DRIFTLESS_EMBEDDED_URL: url.optional(),
    DRIFTLESS_TOPIC_PREFIX: z.string().min(1).default(DEFAULT_PREFIX),

    /** The function that gets what is in `changes` and `background`: its instances, with commas between them. */
    DRIFTLESS_PUSH_URL: urls,
    /** The function that gets what is in `dead-letter`. Absent: it stays there. */
    DRIFTLESS_DEAD_LETTER_URL: url.optional(),
    /** The function that is called all the time, as Cloud Scheduler does every minute. Absent: none. */
    DRIFTLESS_SWEEP_URL: url.optional(),
    DRIFTLESS_SWEEP_EVERY_MS: count(10, 3_600_000).default(10_000),

    /**
     * For each instance. More than a function lets wait of one tenant, as in production: what stays here is first come,
     * first served.
     */
    DRIFTLESS_CHANGES_CONCURRENCY: count(1, 1_000).default(200),
    DRIFTLESS_BACKGROUND_CONCURRENCY: count(1, 1_000).default(4),
    /** Production allows 10 to 600 s for the deadline, 0 to 600 s for the backoff, and 5 to 100 attempts. */
    DRIFTLESS_ACK_DEADLINE_SECONDS: count(1, 600).default(60),
    DRIFTLESS_MINIMUM_BACKOFF_MS: count(1, 600_000).default(100),
    DRIFTLESS_MAXIMUM_BACKOFF_MS: count(1, 600_000).default(10_000),
    DRIFTLESS_MAX_DELIVERY_ATTEMPTS: count(1, 100).default(20),

    /** Serves /readyz once messages flow. 0: any free port. */
    DRIFTLESS_BRIDGE_PORT: count(0, 65_535).default(0),
    DRIFTLESS_LOG_LEVEL: z.enum(['debug', 'info', 'warn', 'error']).default('info'),
  })
  .refine((env) => (env.PUBSUB_EMULATOR_HOST === undefined) !== (env.DRIFTLESS_EMBEDDED_URL === undefined), {
    path: ['PUBSUB_EMULATOR_HOST'],
    error: 'exactly one of PUBSUB_EMULATOR_HOST and DRIFTLESS_EMBEDDED_URL must be set',
    when: () => true, // also beside other problems
  });
