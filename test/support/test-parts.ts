import { resolveBinaries } from '../../infra/local/control-plane/binaries.ts';
import { startControlPlane } from '../../infra/local/control-plane/control-plane.ts';
import { emulatorEnv, findEmulators } from '../../infra/local/emulators/find.ts';
import { freePorts } from '../../infra/local/ports.ts';
import { Supervisor } from '../../infra/local/supervisor/supervisor.ts';

export interface TestParts {
  /** What the test files read: where the parts are. */
  readonly env: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/**
 * The real parts that the tests share: one control plane, both emulators. Each test keeps to a namespace, a topic or
 * a cluster id of its own. A part that cannot be had is named, and the tests that need it skip.
 */
export async function startTestParts(signal: AbortSignal): Promise<TestParts> {
  const say = (text: string): void => console.log(`· ${text}`);
  const supervisor = new Supervisor({
    onEvent: (event) => {
      if (event.kind === 'ready') say(`${event.part} is ready after ${(event.afterMs / 1000).toFixed(1)} s`);
    },
  });
  try {
    const [cluster, emulators] = await Promise.all([
      controlPlaneEnv(supervisor, say, signal),
      emulatorsEnv(supervisor, say),
    ]);
    return { env: { ...cluster, ...emulators }, stop: () => supervisor.stop() };
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}

async function controlPlaneEnv(supervisor: Supervisor, say: (text: string) => void, signal: AbortSignal) {
  try {
    const binaries = await resolveBinaries({ environment: process.env, onProgress: say, signal });
    const { kubeconfig } = await startControlPlane({ supervisor, binaries });
    return { DRIFTLESS_TEST_KUBECONFIG: kubeconfig };
  } catch (error) {
    signal.throwIfAborted();
    say(`no control plane: ${error instanceof Error ? error.message : String(error)}`);
    return {};
  }
}

async function emulatorsEnv(supervisor: Supervisor, say: (text: string) => void) {
  const [pubsub = 0, firestore = 0] = await freePorts(2);
  const emulators = await findEmulators(process.env, { pubsub, firestore });
  await Promise.all(
    Object.entries(emulators).map(async ([name, emulator]) => {
      if (emulator.kind === 'absent') say(`no ${name} emulator: ${emulator.reason}`);
      if (emulator.kind === 'sdk') await supervisor.start(emulator.part);
    }),
  );
  return emulatorEnv(emulators);
}
