import { MemoryAlarmSource } from '../../shared/adapters/memory/alarm-source.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { alarmSourceContract } from './alarm-source.ts';

alarmSourceContract('memory', async () => {
  const store = new MemoryWorkStore({ clock: new FakeClock() });
  return {
    store,
    alarmsOf: (cluster) => new MemoryAlarmSource({ store, cluster }),
    close: async () => undefined,
  };
});
