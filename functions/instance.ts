import type { Runtime } from '../shared/reconcile/runtime.ts';
import { readConfig } from './config.ts';
import { buildRuntime } from './runtime.ts';
import { drainOnTermination, type Requests } from './shutdown.ts';

/** What lives as long as this process: built by the first request, used by all. */
export interface Instance {
  readonly runtime: Runtime;
  readonly requests: Requests;
}

let built: Instance | undefined;

/** The one instance of this process. @throws {ConfigError} when the settings are wrong */
export function instance(): Instance {
  built ??= build();
  return built;
}

function build(): Instance {
  const { runtime, close } = buildRuntime(readConfig());
  return { runtime, requests: drainOnTermination(runtime.log, close) };
}
