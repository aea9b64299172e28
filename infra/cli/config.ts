import { z } from 'zod';
import { type Environment, parseEnvironment } from '../../shared/adapters/zod/environment.ts';
import { COMMON_SETTINGS } from '../../shared/adapters/zod/settings.ts';

const Config = z.object(COMMON_SETTINGS);

export type CliConfig = z.infer<typeof Config>;

/** Where broker and store are: the functions' settings, by the same names. @throws {ConfigError} with every problem */
export function readConfig(env: Environment): CliConfig {
  return parseEnvironment('the environment (the stack on this machine prints a file to source)', Config, env);
}
