import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { openFirestoreWorkStore } from '../../shared/adapters/firestore/work-store.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { workStoreContract } from './work-store.ts';

const { FIRESTORE_EMULATOR_HOST: emulator } = process.env;
// The library would look for the metadata server of a Google machine, which costs seconds elsewhere.
Object.assign(process.env, { METADATA_SERVER_DETECTION: 'none' });

workStoreContract(
  'firestore',
  async (clusters) => {
    const guard = createGuard({ name: 'Firestore', timeoutMs: 10_000 });
    const store = openFirestoreWorkStore({ projectId: 'demo-driftless', clusters, guard, random: new SystemRandom() });
    return { store, close: () => store.close() };
  },
  { skip: emulator === undefined && 'FIRESTORE_EMULATOR_HOST is not set' },
);
