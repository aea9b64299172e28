import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { openFirestoreAlarmSource } from '../../shared/adapters/firestore/alarm-source.ts';
import { openFirestoreWorkStore } from '../../shared/adapters/firestore/work-store.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { alarmSourceContract } from './alarm-source.ts';

const { FIRESTORE_EMULATOR_HOST: emulator } = process.env;
// The library would look for the metadata server of a Google machine, which costs seconds elsewhere.
Object.assign(process.env, { METADATA_SERVER_DETECTION: 'none' });

for (const changes of ['listen', 'poll'] as const) {
  alarmSourceContract(
    `firestore, ${changes}`,
    async () => {
      const connection = {
        projectId: 'demo-driftless',
        guard: createGuard({ name: 'Firestore', timeoutMs: 10_000 }),
      };
      const store = openFirestoreWorkStore({ ...connection, clusters: [], random: new SystemRandom() });
      const sources: { close(): Promise<void> }[] = [];
      return {
        store,
        alarmsOf(cluster) {
          const source = openFirestoreAlarmSource({ ...connection, cluster, changes });
          sources.push(source);
          return source;
        },
        async close() {
          await Promise.all([store, ...sources].map((client) => client.close()));
        },
      };
    },
    { skip: emulator === undefined && 'FIRESTORE_EMULATOR_HOST is not set' },
  );
}
