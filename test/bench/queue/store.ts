import { findEmulators } from '../../../infra/local/emulators/find.ts';
import { freePorts } from '../../../infra/local/ports.ts';
import { Supervisor } from '../../../infra/local/supervisor/supervisor.ts';
import { createGuard } from '../../../shared/adapters/cockatiel/guard.ts';
import { Connection } from '../../../shared/adapters/firestore/connection.ts';
import { openFirestoreWorkStore } from '../../../shared/adapters/firestore/work-store.ts';
import { SystemClock } from '../../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../../shared/adapters/system/random.ts';
import type { WorkStore } from '../../../shared/ports/work-store.ts';
import { WorkQueue } from '../../../shared/queue/work-queue.ts';
import { counting } from '../../support/counting-store.ts';

export const CLUSTER = 'bench';

const PROJECT = 'demo-driftless';

/** A Firestore emulator of its own, and one client for all that is measured. */
export interface Bench {
  readonly store: WorkStore;
  /** For the bare loop that the queue is compared with: the same library, connected in the same way. */
  readonly connection: Connection;
  /** The names of the calls that queues have made. */
  readonly calls: string[];
  /** An instance that has not seen anything yet. */
  instance(): WorkQueue;
  close(): Promise<void>;
}

/** @throws when there is no Firestore emulator on this machine */
export async function openBench(): Promise<Bench> {
  const supervisor = new Supervisor();
  try {
    const [pubsub = 0, firestore = 0] = await freePorts(2);
    // An emulator of its own, whatever the caller uses.
    const environment = { ...process.env, FIRESTORE_EMULATOR_HOST: undefined };
    const emulator = (await findEmulators(environment, { pubsub, firestore })).firestore;
    if (emulator.kind !== 'sdk') throw new Error(emulator.kind === 'absent' ? emulator.reason : 'it is not ours');
    await supervisor.start(emulator.part);
    // The library reads these when it is loaded, which is at the first call.
    Object.assign(process.env, { FIRESTORE_EMULATOR_HOST: emulator.host, METADATA_SERVER_DETECTION: 'none' });
    return connect(supervisor);
  } catch (error) {
    await supervisor.stop();
    throw error;
  }
}

function connect(supervisor: Supervisor): Bench {
  const [clock, random] = [new SystemClock(), new SystemRandom()];
  const options = { projectId: PROJECT, guard: createGuard({ name: 'Firestore', timeoutMs: 30_000 }) };
  const store = openFirestoreWorkStore({ ...options, clusters: [CLUSTER], random });
  const connection = new Connection(options);
  const calls: string[] = [];
  let instances = 0;
  return {
    store,
    connection,
    calls,
    instance() {
      instances += 1;
      return new WorkQueue({ store: counting(store, calls), clock, random, holderIdentity: `bench-${instances}` });
    },
    async close() {
      await Promise.all([store.close(), connection.close()]);
      await supervisor.stop();
    },
  };
}
