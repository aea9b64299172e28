import type { Environment } from '../../../shared/adapters/zod/environment.ts';
import type { Part } from '../part.ts';
import { findJava, type Java } from './java.ts';
import { firestorePart, pubsubPart } from './parts.ts';
import { findSdkFile } from './sdk.ts';

/** Where one emulated service comes from. */
export type Emulator =
  /** Somebody else runs it: `FIRESTORE_EMULATOR_HOST` or `PUBSUB_EMULATOR_HOST` says where. */
  | { readonly kind: 'external'; readonly host: string }
  /** The Cloud SDK on this machine has it; `part` starts it at `host`. */
  | { readonly kind: 'sdk'; readonly host: string; readonly part: Part }
  /** `reason` names exactly what is missing. */
  | { readonly kind: 'absent'; readonly reason: string };

export interface Emulators {
  readonly pubsub: Emulator;
  readonly firestore: Emulator;
}

export interface EmulatorPorts {
  readonly pubsub: number;
  readonly firestore: number;
}

/** Looks where the two emulators can come from. `ports` are used for those that have to be started; nothing is started. */
export async function findEmulators(env: Environment, ports: EmulatorPorts): Promise<Emulators> {
  // Asked for once, and only if an emulator is there to be run.
  let java: Promise<Java> | undefined;
  const find = (service: Service, port: number) => findEmulator(service, env, port, () => (java ??= findJava(env)));
  const [pubsub, firestore] = await Promise.all([find(PUBSUB, ports.pubsub), find(FIRESTORE, ports.firestore)]);
  return { pubsub, firestore };
}

/** What a process needs to reach the emulators that are there, and nothing but them. */
export function emulatorEnv({ pubsub, firestore }: Emulators): Readonly<Record<string, string>> {
  return {
    ...(pubsub.kind === 'absent' ? {} : { PUBSUB_EMULATOR_HOST: pubsub.host }),
    ...(firestore.kind === 'absent' ? {} : { FIRESTORE_EMULATOR_HOST: firestore.host }),
    // Otherwise Google's client libraries look for a metadata server first, which takes up to a second.
    METADATA_SERVER_DETECTION: 'none',
  };
}

interface Service {
  readonly name: string;
  readonly hostVariable: string;
  /** Below the Cloud SDK's root; the last name may hold one `*` for a version. */
  readonly jar: string;
  readonly component: string;
  readonly part: (java: string, jar: string, port: number) => Part;
}

const PUBSUB: Service = {
  name: 'Pub/Sub',
  hostVariable: 'PUBSUB_EMULATOR_HOST',
  jar: 'platform/pubsub-emulator/lib/cloud-pubsub-emulator-*-all.jar',
  component: 'pubsub-emulator',
  part: pubsubPart,
};

const FIRESTORE: Service = {
  name: 'Firestore',
  hostVariable: 'FIRESTORE_EMULATOR_HOST',
  jar: 'platform/cloud-firestore-emulator/cloud-firestore-emulator.jar',
  component: 'cloud-firestore-emulator',
  part: firestorePart,
};

async function findEmulator(
  service: Service,
  env: Environment,
  port: number,
  askForJava: () => Promise<Java>,
): Promise<Emulator> {
  const external = env[service.hostVariable];
  if (external !== undefined && external !== '') return { kind: 'external', host: external };

  const jar = await findSdkFile(env, service.jar);
  if (jar.kind === 'absent') {
    const reason =
      jar.roots.length === 0
        ? `the Cloud SDK, which has the ${service.name} emulator, is not installed`
        : `the Cloud SDK in ${jar.roots.join(', ')} lacks the ${service.name} emulator (gcloud components install ${service.component})`;
    return { kind: 'absent', reason };
  }
  const java = await askForJava();
  if (java.kind === 'absent') {
    return { kind: 'absent', reason: `the ${service.name} emulator needs ${java.reason}` };
  }
  return { kind: 'sdk', host: `127.0.0.1:${port}`, part: service.part(java.path, jar.path, port) };
}
