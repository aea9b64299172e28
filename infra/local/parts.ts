import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Part } from './part.ts';
import { answers, untilTrue } from './supervisor/readiness.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** What every process of Driftless gets told here: the project, the broker and the store. */
export type Backends = Readonly<Record<string, string>>;

export interface OwnPart {
  readonly port: number;
  readonly backends: Backends;
}

export interface ForwarderPart extends OwnPart {
  readonly kubeconfig: string;
  /** `on` or `off`: whether it rings alarms, too. */
  readonly alarmClock: string;
}

/** The forwarder; ready once it has seen every object of every kind. */
export function forwarderPart({ port, backends, kubeconfig, alarmClock }: ForwarderPart): Part {
  return nodePart('forwarder', ['infra/forwarder/main.ts'], {
    env: { ...backends, KUBECONFIG: kubeconfig, PORT: String(port), DRIFTLESS_ALARM_CLOCK: alarmClock },
    ready: answers(`http://127.0.0.1:${port}/readyz`),
    usuallyMs: 1_000,
    whenItEnds: 'restart',
  });
}

/** One function under functions-framework, which serves one target per process, as in production. */
export function functionPart(
  target: 'reconcile' | 'sweep',
  { port, backends, kubeconfig, strict }: OwnPart & { readonly kubeconfig: string; readonly strict: boolean },
): Part {
  const framework = 'node_modules/@google-cloud/functions-framework/build/src/main.js';
  return nodePart(target, [framework, `--source=${ROOT}functions/index.ts`, `--target=${target}`], {
    env: {
      ...backends,
      KUBECONFIG: kubeconfig,
      PORT: String(port),
      FUNCTION_TARGET: target,
      DRIFTLESS_STRICT: strict ? 'on' : 'off',
    },
    // A request would be one to the function; the framework listens when the function is loaded.
    ready: listens(port),
    usuallyMs: 1_000,
    whenItEnds: 'restart',
  });
}

/** Stands in for push subscriptions and Cloud Scheduler; ready once messages flow. */
export function bridgePart({
  port,
  backends,
  reconcileUrl,
  sweepUrl,
}: OwnPart & { readonly reconcileUrl: string; readonly sweepUrl: string }): Part {
  return nodePart('push-bridge', ['infra/local/push-bridge/main.ts'], {
    env: {
      ...backends,
      DRIFTLESS_PUSH_URL: reconcileUrl,
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
