import { createLogger } from '../shared/adapters/pino/logger.ts';
import { ConfigError } from '../shared/errors.ts';
import type { Runtime } from '../shared/reconcile/runtime.ts';
import { readConfig } from './config.ts';
import { buildRuntime } from './runtime.ts';
import { drainOnTermination, type Requests } from './shutdown.ts';
import { Turns } from './turns.ts';

/** What lives as long as this process, and is shared by all of its requests. */
export interface Instance {
  readonly runtime: Runtime;
  readonly turns: Turns;
  /** Built at the first request: the framework has set its own signal handlers by then, and they are taken out. */
  requests(): Requests;
}

/**
 * Builds the instance when the code is loaded, so that wrong settings show at the deployment and not at a request, and
 * libraries load while the instance is starting anyway. Ends the process with 2 when the settings are wrong.
 */
export function startInstance(): Instance {
  const config = configOrExit();
  const { runtime, prepare, close } = buildRuntime(config);
  prepare().catch((error: unknown) => runtime.log.warn('not prepared; the first request tries again', { error }));
  const turns = new Turns({ ...runtime, slots: config.DRIFTLESS_MAX_RUNS, room: config.DRIFTLESS_MAX_WAITING });
  let requests: Requests | undefined;
  return {
    runtime,
    turns,
    requests: () => (requests ??= drainOnTermination(runtime.log, close, () => turns.stop())),
  };
}

function configOrExit(): ReturnType<typeof readConfig> {
  try {
    return readConfig();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    createLogger({ component: 'functions' }).error('settings are invalid', { problems: error.problems, error });
    process.exit(2);
  }
}
