import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import type { Part } from './part.ts';
import { answers, untilTrue } from './supervisor/readiness.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What every process of Driftless gets told here: the project, the broker and the store. */
export type Backends = Readonly<Record<string, string>>;

/** The settings of Driftless that the caller has set, for each process that knows them; where the store is, is ours to say. */
export function settingsIn(environment: Environment): Readonly<Record<string, string>> {
  const isSetting = (name: string) => name.startsWith('DRIFTLESS_') && !name.startsWith('DRIFTLESS_EMBEDDED_');
  return Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && isSetting(name) ? [[name, value]] : [],
    ),
  );
}

export interface OwnPart {
  readonly port: number;
  readonly backends: Backends;
}

export interface ForwarderPart extends OwnPart {
  readonly kubeconfig: string;
}

/** The forwarder; ready once it has seen every object of every kind. */
export function forwarderPart({ port, backends, kubeconfig }: ForwarderPart): Part {
  return nodePart('forwarder', ['infra/forwarder/main.ts'], {
    env: { DRIFTLESS_ALARM_CLOCK: 'on', ...backends, KUBECONFIG: kubeconfig, PORT: String(port) },
    ready: answers(`http://127.0.0.1:${port}/readyz`),
    usuallyMs: 1_000,
    whenItEnds: 'restart',
  });
}

export interface FunctionPart extends OwnPart {
  /** The only one of its target is called as the target; of several each has a name of its own. */
  readonly name: string;
  readonly target: 'reconcile' | 'sweep';
  readonly kubeconfig: string;
  readonly strict: boolean;
}

/** One instance of a function under functions-framework, which serves one target per process, as in production. */
export function functionPart({ name, target, port, backends, kubeconfig, strict }: FunctionPart): Part {
  const framework = 'node_modules/@google-cloud/functions-framework/build/src/main.js';
  return nodePart(name, [framework, `--source=${ROOT}functions/index.ts`, `--target=${target}`], {
    env: {
      ...backends,
      KUBECONFIG: kubeconfig,
      PORT: String(port),
      FUNCTION_TARGET: target,
      DRIFTLESS_STRICT: strict ? 'on' : 'off',
      // The name stands in the leases, where Cloud Run's revision stands in production.
      K_REVISION: name,
    },
    // A request would be one to the function; the framework listens when the function is loaded.
    ready: listens(port),
    usuallyMs: 1_000,
    whenItEnds: 'restart',
  });
}

export interface BridgePart extends OwnPart {
  /** Of each instance. */
  readonly reconcileUrls: readonly string[];
  readonly sweepUrl: string;
}

/** Stands in for push subscriptions and Cloud Scheduler; ready once messages flow. */
export function bridgePart({ port, backends, reconcileUrls, sweepUrl }: BridgePart): Part {
  return nodePart('push-bridge', ['infra/local/push-bridge/main.ts'], {
    env: {
      ...backends,
      DRIFTLESS_PUSH_URL: reconcileUrls.join(),
      DRIFTLESS_SWEEP_URL: sweepUrl,
      DRIFTLESS_BRIDGE_PORT: String(port),
    },
    ready: answers(`http://127.0.0.1:${port}/readyz`),
    usuallyMs: 1_000,
    whenItEnds: 'restart',
  });
}

/** Holds messages and work items in memory, where there are no emulators. */
export function embeddedPart(port: number): Part {
  return nodePart('embedded', ['infra/local/embedded/main.ts'], {
    env: { DRIFTLESS_EMBEDDED_PORT: String(port) },
    ready: listens(port),
    usuallyMs: 500,
    // It dies with all that was stored, as an emulator does.
    whenItEnds: 'fail',
  });
}

/** Takes 40 % off the memory of a process that makes much short-lived JSON, at no measurable cost. */
const SMALL_NURSERY = '--max-semi-space-size=8';

function nodePart(name: string, args: readonly string[], rest: Omit<Part, 'name' | 'command' | 'args'>): Part {
  const [script = '', ...options] = args;
  return { name, command: process.execPath, args: [SMALL_NURSERY, `${ROOT}${script}`, ...options], ...rest };
}

function listens(port: number): (signal: AbortSignal) => Promise<void> {
  return (signal) => untilTrue(() => accepts(port), signal);
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
