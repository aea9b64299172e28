import { EmbeddedPublisher } from '../adapters/embedded/publisher.ts';
import { EmbeddedWorkStore } from '../adapters/embedded/work-store.ts';
import { openFirestoreWorkStore } from '../adapters/firestore/work-store.ts';
import { PubSubPublisher } from '../adapters/pubsub/publisher.ts';
import type { Publisher } from '../ports/broker.ts';
import type { Guard } from '../ports/guard.ts';
import type { Random } from '../ports/random.ts';
import type { WorkStore } from '../ports/work-store.ts';

/** The settings that say where broker and store are; a part of `COMMON_SETTINGS`. */
export interface BackendSettings {
  readonly GOOGLE_CLOUD_PROJECT: string;
  readonly DRIFTLESS_TOPIC_PREFIX: string;
  readonly DRIFTLESS_FIRESTORE_DATABASE: string;
  readonly DRIFTLESS_FIRESTORE_TRANSPORT: 'grpc' | 'rest';
  readonly PUBSUB_EMULATOR_HOST?: string | undefined;
  readonly FIRESTORE_EMULATOR_HOST?: string | undefined;
  readonly DRIFTLESS_EMBEDDED_URL?: string | undefined;
}

/** What a root may have loaded before the first call needs it. */
interface Preparable {
  prepare?(): Promise<void>;
}

export interface WorkStoreOptions {
  /** The clusters whose alarms `due` looks for. */
  readonly clusters: readonly string[];
  readonly random: Random;
  /** Bounds each call to Firestore; the embedded store has a deadline of its own. */
  readonly guard: Guard;
}

/** The broker that the settings ask for: the embedded stand-in, the emulator, or Pub/Sub. Connects at the first call. */
export function openPublisher(settings: BackendSettings, guard: Guard): Publisher & Preparable {
  const { DRIFTLESS_EMBEDDED_URL: url, PUBSUB_EMULATOR_HOST: emulatorHost } = settings;
  if (url !== undefined) return new EmbeddedPublisher({ url });
  return new PubSubPublisher({
    projectId: settings.GOOGLE_CLOUD_PROJECT,
    prefix: settings.DRIFTLESS_TOPIC_PREFIX,
    ...(emulatorHost === undefined ? {} : { emulatorHost }),
    guard,
  });
}

/** The store that the settings ask for: the embedded stand-in, or Firestore. Connects at the first call. */
export function openWorkStore(
  settings: BackendSettings,
  options: WorkStoreOptions,
): WorkStore & Preparable & { close(): Promise<void> } {
  const { DRIFTLESS_EMBEDDED_URL: url } = settings;
  if (url !== undefined) return new EmbeddedWorkStore({ url });
  return openFirestoreWorkStore({ ...firestoreOf(settings), ...options });
}

/** Which database, and how to get there. */
export function firestoreOf(settings: BackendSettings) {
  const { FIRESTORE_EMULATOR_HOST: emulator, DRIFTLESS_FIRESTORE_TRANSPORT: transport } = settings;
  return {
    projectId: settings.GOOGLE_CLOUD_PROJECT,
    databaseId: settings.DRIFTLESS_FIRESTORE_DATABASE,
    // With REST the library asks for Google's credentials, also on the way to the emulator.
    transport: emulator === undefined ? transport : 'grpc',
  } as const;
}
