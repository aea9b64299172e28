import { startEmbeddedServer } from '../../infra/local/embedded/server.ts';
import { EmbeddedWorkStore } from '../../shared/adapters/embedded/work-store.ts';
import { MemoryBroker } from '../../shared/adapters/memory/broker.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { workStoreContract } from './work-store.ts';

workStoreContract('embedded', async () => {
  const clock = new SystemClock();
  const broker = new MemoryBroker({ clock, random: new SystemRandom() });
  const server = await startEmbeddedServer({ store: new MemoryWorkStore({ clock }), broker, port: 0 });
  const store = new EmbeddedWorkStore({ url: server.url });
  return {
    store,
    async close() {
      await store.close();
      await server.close();
    },
  };
});
