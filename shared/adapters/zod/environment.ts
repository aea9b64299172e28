import type { z } from 'zod';
import { ConfigError } from '../../errors.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The settings of a process, from its environment.
 *
 * @param what named in the error: `the environment of the forwarder`
 * @throws {ConfigError} with every problem at once: which variable, what is expected, what was seen
 */
export function parseEnvironment<T>(what: string, schema: z.ZodType<T>, env: Environment): T {
  const parsed = schema.safeParse(env);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => {
    const name = path.map(String).join('.');
    const seen = env[name];
    return `${name}: ${message} (${seen === undefined ? 'it is not set' : `seen: '${seen}'`})`;
  });
  throw new ConfigError(what, problems);
}
