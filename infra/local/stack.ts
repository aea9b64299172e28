import { dirname, join } from 'node:path';
import { controllers } from '../../functions/controllers/index.ts';
import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { connectKubernetes, type Kubernetes } from '../../shared/adapters/kubernetes/connect.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { FUNCTIONS_ACCOUNT } from '../../shared/reconcile/fence-objects.ts';
import { forwarderRules, functionRules, type PolicyRule } from '../../shared/reconcile/permissions.ts';
import { startBackends } from './backends.ts';
import { resolveBinaries } from './control-plane/binaries.ts';
import { type ControlPlane, startControlPlane } from './control-plane/control-plane.ts';
import type { Binaries } from './control-plane/find-binaries.ts';
import { installCrds } from './crds.ts';
import { writeEnvFile } from './env-file.ts';
import { installFence } from './fence.ts';
import { type Backends, bridgePart, forwarderPart, functionPart, settingsIn } from './parts.ts';
import { assertPortFree, freePorts } from './ports.ts';
import { Supervisor } from './supervisor/supervisor.ts';

export type StackEvent =
  | { readonly kind: 'note'; readonly text: string }
  | { readonly kind: 'ready'; readonly part: string; readonly afterMs: number }
  | { readonly kind: 'restarting'; readonly part: string; readonly how: string };

export interface StackOptions {
  /** Loopback port of the API server. @default a free one */
  readonly apiPort?: number;
  /** Fail without the emulators instead of standing in for them. @default false */
  readonly requireEmulators?: boolean;
  /** How many processes serve the reconcile function. @default 1 */
  readonly instances?: number;
  /** Strict mode: late writers are fenced out by the API server. @default false */
  readonly strict?: boolean;
  readonly environment: Environment;
  readonly onEvent: (event: StackEvent) => void;
  /** Called as soon as there is something to stop. */
  readonly onSupervisor?: (supervisor: Supervisor) => void;
  readonly signal: AbortSignal;
}

/** The whole of Driftless on this machine: cluster, broker, store, forwarder and functions. */
export interface Stack {
  readonly supervisor: Supervisor;
  readonly controlPlane: ControlPlane;
  /** By which kubectl and `driftless explain` reach this stack. */
  readonly env: Readonly<Record<string, string>>;
  /** The same as a file to `source`. */
  readonly envFile: string;
  /** The cluster as its administrator. */
  readonly admin: Kubernetes;
  /** The parts that serve the reconcile function: `reconcile` alone, or `reconcile-1`, `reconcile-2`, … */
  readonly reconcilers: readonly string[];
  /** How long each part took to be ready, in milliseconds. */
  readonly startedInMs: Readonly<Record<string, number>>;
  /** Resolves when `signal` aborts. @throws {PartFailedError} when a part that nothing works without ends by itself */
  untilEnded(signal: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts everything, as much as possible at once; resolves when a WebApp that is created now would be reconciled.
 *
 * Whatever goes wrong: nothing is left behind, and the error names the part, with its last log lines.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { environment, onEvent, signal } = options;
  if (options.apiPort !== undefined) await assertPortFree(options.apiPort, '--api-port');
  const note = (text: string): void => onEvent({ kind: 'note', text });
  const binaries = await resolveBinaries({ environment, onProgress: note, signal });
  note(`control plane: ${dirname(binaries.kubeApiserver)}`);

  const startedInMs: Record<string, number> = {};
  const supervisor = new Supervisor({
    onEvent: (event) => {
      if (event.kind === 'ready') {
        startedInMs[event.part] = event.afterMs;
        onEvent(event);
      }
      if (event.kind === 'restarting') onEvent(event);
    },
  });
  options.onSupervisor?.(supervisor);
  // Ends what is still starting; whoever waits for it gets the reason.
  const abort = (): void => void supervisor.stop();
  signal.addEventListener('abort', abort, { once: true });
  try {
    signal.throwIfAborted();
    const ports = await choosePorts(options.instances ?? 1);
    const [{ controlPlane, admin }, backends] = await allOrFirstError([
      startCluster(options, supervisor, binaries),
      startBroker(options, supervisor, ports),
    ]);
    const env = { KUBECONFIG: controlPlane.kubeconfig, ...backends };
    const envFile = join(supervisor.directory, 'env');
    await allOrFirstError([
      startOwnParts({
        supervisor,
        controlPlane,
        backends: { ...settingsIn(environment), ...backends },
        ports,
        strict: options.strict ?? false,
      }),
      writeEnvFile(envFile, env),
    ]);
    return {
      supervisor,
      controlPlane,
      env,
      envFile,
      admin,
      reconcilers: Object.keys(ports.reconcile),
      startedInMs,
      untilEnded: (ending) => untilEnded(supervisor, ending),
      async stop() {
        await admin.close();
        await supervisor.stop();
      },
    };
  } catch (error) {
    await supervisor.stop();
    throw signal.aborted ? signal.reason : error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

async function startCluster(
  { apiPort, strict = false, signal }: StackOptions,
  supervisor: Supervisor,
  binaries: Binaries,
) {
  const { promise: connected, resolve } = Promise.withResolvers<Kubernetes>();
  const controlPlane = await startControlPlane({
    supervisor,
    binaries,
    ...(apiPort === undefined ? {} : { apiPort }),
    async beforeControllers(kubeconfig) {
      const admin = connectAsAdmin(kubeconfig);
      resolve(admin);
      await Promise.all([
        installCrds(admin.user, signal),
        strict ? installFence(admin, controllers, signal) : undefined,
      ]);
    },
  });
  return { controlPlane, admin: await connected };
}

function connectAsAdmin(kubeconfig: string): Kubernetes {
  return connectKubernetes({
    credentials: { kind: 'kubeconfig', path: kubeconfig },
    guard: createGuard({ name: 'API server', timeoutMs: 10_000, retry: { maxAttempts: 5, maxDelayMs: 500 } }),
    random: new SystemRandom(),
  });
}

interface Ports {
  readonly sweep: number;
  readonly bridge: number;
  readonly forwarder: number;
  /** By the name of the part. */
  readonly reconcile: Readonly<Record<string, number>>;
}

async function choosePorts(instances: number): Promise<Ports> {
  const [sweep = 0, bridge = 0, forwarder = 0, ...reconcile] = await freePorts(3 + instances);
  const name = (i: number): string => (instances === 1 ? 'reconcile' : `reconcile-${i + 1}`);
  return { sweep, bridge, forwarder, reconcile: Object.fromEntries(reconcile.map((port, i) => [name(i), port])) };
}

/** Store, broker, and the bridge that makes the broker's subscriptions: a message without one would be lost. */
async function startBroker(options: StackOptions, supervisor: Supervisor, ports: Ports): Promise<Backends> {
  const { environment, onEvent, requireEmulators = false } = options;
  const onNote = (text: string): void => onEvent({ kind: 'note', text });
  const backends = await startBackends({ supervisor, environment, requireEmulators, onNote });
  const urlOf = (port: number): string => `http://127.0.0.1:${port}/`;
  await supervisor.start(
    bridgePart({
      port: ports.bridge,
      backends: { ...settingsIn(environment), ...backends },
      reconcileUrls: Object.values(ports.reconcile).map(urlOf),
      sweepUrl: urlOf(ports.sweep),
    }),
  );
  return backends;
}

interface OwnPartsOptions {
  readonly supervisor: Supervisor;
  readonly controlPlane: ControlPlane;
  readonly backends: Backends;
  readonly ports: Ports;
  readonly strict: boolean;
}

/** Forwarder and functions, each with the permissions that it needs and no others. */
async function startOwnParts(options: OwnPartsOptions): Promise<void> {
  const { supervisor, controlPlane, backends, ports, strict } = options;
  const account = (name: string, rules: readonly PolicyRule[]): Promise<string> =>
    controlPlane.issueKubeconfig({ name, namespace: 'driftless-system', serviceAccount: name, rules });
  const [forwarderKubeconfig, kubeconfig] = await Promise.all([
    account('driftless-forwarder', forwarderRules(controllers)),
    // In strict mode all is granted to the user that they act as.
    account(FUNCTIONS_ACCOUNT, strict ? [] : functionRules(controllers)),
  ]);
  const { sweep, forwarder: port } = ports;
  const common = { backends, kubeconfig, strict };
  await allOrFirstError([
    ...Object.entries(ports.reconcile).map(([name, at]) =>
      supervisor.start(functionPart({ name, target: 'reconcile', port: at, ...common })),
    ),
    supervisor.start(functionPart({ name: 'sweep', target: 'sweep', port: sweep, ...common })),
    supervisor.start(forwarderPart({ port, backends, kubeconfig: forwarderKubeconfig })),
  ]);
}

async function untilEnded(supervisor: Supervisor, signal: AbortSignal): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const stop = (): void => ended.resolve();
  if (signal.aborted) return;
  signal.addEventListener('abort', stop, { once: true });
  const failed = await Promise.race([supervisor.failed, ended.promise]);
  signal.removeEventListener('abort', stop);
  if (failed !== undefined) throw failed;
}

/** Waits for all, so that nothing goes on behind our back while the first error is handled. */
async function allOrFirstError<T extends readonly unknown[]>(
  promises: readonly [...{ readonly [K in keyof T]: Promise<T[K]> }],
): Promise<T> {
  await Promise.allSettled(promises);
  return (await Promise.all(promises)) as unknown as T;
}
