import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startEmbeddedServer } from '../../infra/local/embedded/server.ts';
import { EmbeddedAlarmSource } from '../../shared/adapters/embedded/alarm-source.ts';
import { EmbeddedWorkStore } from '../../shared/adapters/embedded/work-store.ts';
import { MemoryBroker } from '../../shared/adapters/memory/broker.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { alarmSourceContract } from './alarm-source.ts';

function startServer(port = 0) {
  const clock = new SystemClock();
  const broker = new MemoryBroker({ clock, random: new SystemRandom() });
  return startEmbeddedServer({ store: new MemoryWorkStore({ clock }), broker, port });
}

alarmSourceContract('embedded', async () => {
  const server = await startServer();
  const store = new EmbeddedWorkStore({ url: server.url });
  const sources: EmbeddedAlarmSource[] = [];
  return {
    store,
    alarmsOf(cluster) {
      const source = new EmbeddedAlarmSource({ url: server.url, cluster });
      sources.push(source);
      return source;
    },
    async close() {
      await Promise.all([store, ...sources].map((client) => client.close()));
      await server.close();
    },
  };
});

describe('EmbeddedAlarmSource', () => {
  it('has another epoch when the server was started anew, which has nothing of what was stored', async () => {
    const server = await startServer();
    const source = new EmbeddedAlarmSource({ url: server.url, cluster: 'local' });
    const { signal } = new AbortController();
    const { epoch } = await source.state(signal);
    await server.close();
    const again = await startServer(Number(new URL(server.url).port));
    assert.notEqual((await source.state(signal)).epoch, epoch);
    await source.close();
    await again.close();
  });

  it('says so when the server goes away while it listens', async () => {
    const server = await startServer();
    const source = new EmbeddedAlarmSource({ url: server.url, cluster: 'local' });
    const { signal } = new AbortController();
    const views = source.follow({ untilMs: 0, limit: 1 }, signal)[Symbol.asyncIterator]();
    await views.next();
    const next = assert.rejects(Promise.resolve(views.next()), {
      code: 'EMBEDDED_UNAVAILABLE',
      retry: { kind: 'backoff' },
    });
    await server.close();
    await next;
    await source.close();
  });
});
