import { join } from 'node:path';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { ConfigError } from '../../shared/errors.ts';
import { cacheRoot } from './cache-root.ts';
import { type Emulators, emulatorEnv, findEmulators } from './emulators/find.ts';
import { enforceDemoProject } from './emulators/project.ts';
import { type Backends, embeddedPart } from './parts.ts';
import { freePorts } from './ports.ts';
import type { Supervisor } from './supervisor/supervisor.ts';

export interface BackendOptions {
  readonly supervisor: Supervisor;
  readonly environment: Environment;
  /** Fail without the emulators instead of standing in for them. */
  readonly requireEmulators: boolean;
  /** Gets one line that says what is used. */
  readonly onNote: (text: string) => void;
}

/**
 * Brings up Pub/Sub and Firestore for this machine: the emulators that the environment names, those of the Cloud SDK,
 * or the embedded stand-ins for both.
 *
 * @returns the environment by which every process reaches them, and nothing else: the project is one that cannot exist
 * @throws {ConfigError} when the project could be a real one, or emulators are required and absent
 */
export async function startBackends(options: BackendOptions): Promise<Backends> {
  const { supervisor, environment, requireEmulators, onNote } = options;
  const projectId = environment['GOOGLE_CLOUD_PROJECT'] ?? 'demo-driftless';
  enforceDemoProject(projectId);

  const [pubsub = 0, firestore = 0, embedded = 0] = await freePorts(3);
  const emulators = await findEmulators(environment, { pubsub, firestore });
  const reasons = absences(emulators);
  const common = {
    GOOGLE_CLOUD_PROJECT: projectId,
    METADATA_SERVER_DETECTION: 'none',
    // Node keeps compiled code there, which takes a fifth off the start of each process.
    NODE_COMPILE_CACHE: join(cacheRoot(environment), 'compiled'),
  };
  if (reasons.length === 0) {
    await Promise.all(
      Object.values(emulators).map((emulator) =>
        emulator.kind === 'sdk' ? supervisor.start(emulator.part) : undefined,
      ),
    );
    onNote(`Pub/Sub and Firestore: ${describe(emulators)}, project ${projectId}`);
    return { ...common, ...emulatorEnv(emulators) };
  }
  if (requireEmulators) throw new ConfigError('the choice --require-emulators', reasons);
  onNote(`Pub/Sub and Firestore: embedded stand-ins in memory, because ${reasons.join('; ')}`);
  await supervisor.start(embeddedPart(embedded));
  return { ...common, DRIFTLESS_EMBEDDED_URL: `http://127.0.0.1:${embedded}` };
}

function absences(emulators: Emulators): readonly string[] {
  const reasons = Object.values(emulators).flatMap((emulator) => (emulator.kind === 'absent' ? [emulator.reason] : []));
  return [...new Set(reasons)];
}

function describe({ pubsub, firestore }: Emulators): string {
  const kinds = new Set([pubsub.kind, firestore.kind]);
  if (kinds.has('external')) return kinds.size === 1 ? 'emulators that run already' : 'emulators, one runs already';
  return "the Cloud SDK's emulators";
}
