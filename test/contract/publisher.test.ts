import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { startEmbeddedServer } from '../../infra/local/embedded/server.ts';
import { openPubSubSource } from '../../infra/local/push-bridge/pubsub-source.ts';
import type { HeldMessage } from '../../infra/local/push-bridge/source.ts';
import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { EmbeddedPublisher } from '../../shared/adapters/embedded/publisher.ts';
import { MemoryBroker } from '../../shared/adapters/memory/broker.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { PubSubPublisher } from '../../shared/adapters/pubsub/publisher.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import type { Topic } from '../../shared/ports/broker.ts';
import { type PublisherFixture, publisherContract, type TakenMessage } from './publisher.ts';

const clock = new SystemClock();
const random = new SystemRandom();

publisherContract('memory', async () => {
  const broker = new MemoryBroker({ clock, random });
  const cutOff = new MemoryBroker({ clock, random });
  await cutOff.close();
  return { publisher: broker, cutOff, take: takeFrom(broker), close: () => broker.close() };
});

publisherContract('embedded', async () => {
  const broker = new MemoryBroker({ clock, random });
  const server = await startEmbeddedServer({ store: new MemoryWorkStore({ clock }), broker, port: 0 });
  const mute = await muteServer();
  // A thousand calls at once wait for each other on a busy machine.
  const publisher = new EmbeddedPublisher({ url: server.url, timeoutMs: 60_000 });
  const cutOff = new EmbeddedPublisher({ url: `http://${mute.host}`, timeoutMs: 500 });
  return {
    publisher,
    cutOff,
    take: takeFrom(broker),
    async close() {
      await publisher.close();
      mute.close();
      await cutOff.close();
      await server.close();
    },
  };
});

const { PUBSUB_EMULATOR_HOST: emulatorHost } = process.env;

publisherContract('Pub/Sub', () => pubsubFixture(emulatorHost ?? ''), {
  skip: emulatorHost === undefined ? 'no Pub/Sub emulator: PUBSUB_EMULATOR_HOST is not set' : false,
});

async function pubsubFixture(host: string): Promise<PublisherFixture> {
  const connection = { projectId: 'demo-contract', emulatorHost: host, prefix: `contract-${randomUUID()}` };
  const guard = createGuard({ name: 'Pub/Sub', timeoutMs: 10_000 });
  const source = await openPubSubSource(connection);
  const stopping = new AbortController();
  await source.prepare(stopping.signal);
  const inboxes = { changes: new Inbox(), background: new Inbox() };
  const pulls = (['changes', 'background'] as const).map((topic) =>
    source.pull(topic, 10_000, async (message) => inboxes[topic].put(message), stopping.signal),
  );
  const mute = await muteServer();
  const publisher = new PubSubPublisher({ ...connection, guard });
  const cutOff = new PubSubPublisher({ ...connection, emulatorHost: mute.host, guard, requestTimeoutMs: 500 });
  return {
    publisher,
    cutOff,
    take: (topic, signal) => inboxes[topic].take(signal),
    async close() {
      await publisher.close();
      await cutOff.close();
      mute.close();
      stopping.abort();
      await Promise.all(pulls);
      await source.close();
    },
  };
}

function takeFrom(broker: MemoryBroker) {
  return async (topic: Topic, signal: AbortSignal): Promise<readonly TakenMessage[]> => {
    const messages = await broker.pull(topic, { max: 100, waitMs: 10_000 }, signal);
    broker.ack(
      topic,
      messages.map(({ messageId }) => messageId),
    );
    return messages;
  };
}

/** Accepts connections and never says a word, as a host behind a broken network does. */
async function muteServer(): Promise<{ readonly host: string; readonly close: () => void }> {
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

class Inbox {
  #messages: TakenMessage[] = [];
  #arrival = Promise.withResolvers<void>();

  put({ messageId, data, attributes }: HeldMessage): 'ack' {
    this.#messages.push({ messageId, data: Buffer.from(data, 'base64').toString(), attributes });
    this.#arrival.resolve();
    return 'ack';
  }

  async take(signal: AbortSignal): Promise<readonly TakenMessage[]> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    await Promise.race([this.#arrival.promise, aborted]);
    const taken = this.#messages;
    this.#messages = [];
    this.#arrival = Promise.withResolvers();
    return taken;
  }
}
