import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { workStoreContract } from './work-store.ts';

workStoreContract('memory', async () => ({
  store: new MemoryWorkStore({ clock: new FakeClock() }),
  close: async () => undefined,
}));
