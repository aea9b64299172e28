import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { startEmbeddedServer } from '../../infra/local/embedded/server.ts';
import { type Route, runBridge } from '../../infra/local/push-bridge/bridge.ts';
import { openEmbeddedSource } from '../../infra/local/push-bridge/embedded-source.ts';
import { Instances } from '../../infra/local/push-bridge/instances.ts';
import { openPubSubSource } from '../../infra/local/push-bridge/pubsub-source.ts';
import { createPusher } from '../../infra/local/push-bridge/push.ts';
import { runScheduler } from '../../infra/local/push-bridge/scheduler.ts';
import type { HeldMessage, Source } from '../../infra/local/push-bridge/source.ts';
import { MemoryBroker } from '../../shared/adapters/memory/broker.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import type { LogFields, Logger } from '../../shared/ports/logger.ts';
import { type FunctionStub, startFunctionStub } from './push-bridge-function.ts';
import { until } from './push-bridge-until.ts';

const clock = new SystemClock();
const { PUBSUB_EMULATOR_HOST: emulatorHost } = process.env;

bridgeSuite('embedded broker', openEmbedded);
bridgeSuite('Pub/Sub emulator', () => openEmulator(emulatorHost ?? ''), {
  skip: emulatorHost === undefined ? 'no Pub/Sub emulator: PUBSUB_EMULATOR_HOST is not set' : false,
});

function bridgeSuite(
  name: string,
  open: () => Promise<OpenSource>,
  { skip = false }: { readonly skip?: string | false } = {},
): void {
  describe(`push bridge on the ${name}`, { skip, timeout: 60_000 }, () => {
    let broker: OpenSource;
    let webhook: FunctionStub;
    let bridges: { stop(): Promise<void> }[];

    beforeEach(async () => {
      broker = await open();
      await broker.source.prepare(new AbortController().signal);
      webhook = await startFunctionStub();
      bridges = [];
    });
    afterEach(async () => {
      await Promise.all(bridges.map((bridge) => bridge.stop()));
      await webhook.close();
      await broker.close();
    });

    function start(route: Partial<Route> = {}) {
      const logger = new LogLines();
      const pusher = createPusher();
      const stopping = new AbortController();
      const done = runBridge(
        { projectId: 'demo-bridge', source: broker.source, pusher, clock, logger },
        [{ ...defaults, instances: new Instances([webhook.url]), ...route }],
        stopping.signal,
      );
      const bridge = {
        logger,
        async stop() {
          stopping.abort();
          await done;
          await pusher.close();
        },
      };
      bridges.push(bridge);
      return bridge;
    }

    it("sends production's request, field for field", async () => {
      start();
      await broker.source.send('changes', message('hello', { cluster: 'local' }));
      const [request] = await webhook.received(1);
      const { message: sent } = JSON.parse(request?.body ?? '');
      assert.match(sent.messageId, /^\S+$/);
      assert.match(sent.publishTime, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      assert.equal(
        request?.body,
        `{"deliveryAttempt":1,"message":{"attributes":{"cluster":"local"},"data":"aGVsbG8=","messageId":"${sent.messageId}","message_id":"${sent.messageId}","publishTime":"${sent.publishTime}","publish_time":"${sent.publishTime}"},"subscription":"projects/demo-bridge/subscriptions/driftless-changes"}`,
      );
      assert.equal(request.method, 'POST');
      assert.equal(request.headers['content-type'], 'application/json');
    });

    it('leaves deliveryAttempt out when there is no dead letter policy', async () => {
      const { maxDeliveryAttempts: _, ...withoutDeadLetter } = defaults;
      const pusher = createPusher();
      const stopping = new AbortController();
      const done = runBridge(
        { projectId: 'demo-bridge', source: broker.source, pusher, clock, logger: new LogLines() },
        [{ ...withoutDeadLetter, instances: new Instances([webhook.url]) }],
        stopping.signal,
      );
      await broker.source.send('changes', message('hello'));
      const [request] = await webhook.received(1);
      assert.deepEqual(Object.keys(JSON.parse(request?.body ?? '')), ['message', 'subscription']);
      stopping.abort();
      await done;
      await pusher.close();
    });

    it('delivers a refused message again under the same id, counting the attempts', async () => {
      const bridge = start();
      webhook.answer = (_, index) => (index < 2 ? 500 : 204);
      await broker.source.send('changes', message('hello'));
      const requests = await webhook.received(3);
      const bodies = requests.map(({ body }) => JSON.parse(body));
      assert.deepEqual(
        bodies.map(({ deliveryAttempt }) => deliveryAttempt),
        [1, 2, 3],
      );
      assert.equal(new Set(bodies.map((body) => body.message.messageId)).size, 1);
      await bridge.stop();
      assert.deepEqual(
        bridge.logger.of('message pushed').map(({ topic, attempt, status }) => ({ topic, attempt, status })),
        [
          { topic: 'changes', attempt: 1, status: 500 },
          { topic: 'changes', attempt: 2, status: 500 },
          { topic: 'changes', attempt: 3, status: 204 },
        ],
      );
    });

    it('does not deliver an accepted message again', async () => {
      start();
      await broker.source.send('changes', message('first'));
      await webhook.received(1);
      await broker.source.send('changes', message('second'));
      assert.deepEqual(texts(await webhook.received(2)), ['first', 'second']);
    });

    it('R23: forwards a message that was refused too often to the dead letter, with its origin', async () => {
      start({ maxDeliveryAttempts: 3 });
      webhook.answer = () => 500;
      await broker.source.send('changes', message('poison', { cluster: 'local' }));
      const dead = await takeOne(broker.source, 'dead-letter');
      assert.equal(Buffer.from(dead.data, 'base64').toString(), 'poison');
      const { CloudPubSubDeadLetterSourceTopicPublishTime: publishTime, ...attributes } = dead.attributes;
      assert.match(String(publishTime), /^\d{4}-\d\d-\d\dT/);
      assert.deepEqual(attributes, {
        cluster: 'local',
        CloudPubSubDeadLetterSourceDeliveryCount: '3',
        CloudPubSubDeadLetterSourceSubscription: 'driftless-changes',
        CloudPubSubDeadLetterSourceSubscriptionProject: 'demo-bridge',
      });
      assert.equal((await webhook.received(3)).length, 3);
    });

    it('R13, P55: delivers the others while one message keeps failing', async () => {
      start({ concurrency: 1, minimumBackoffMs: 60_000, maximumBackoffMs: 60_000 });
      webhook.answer = ({ body }) => (textOf(body) === 'poison' ? 500 : 204);
      await broker.source.send('changes', message('poison'));
      await webhook.received(1);
      await broker.source.send('changes', message('a'));
      await broker.source.send('changes', message('b'));
      assert.deepEqual(new Set(texts(await webhook.received(3))), new Set(['poison', 'a', 'b']));
    });

    it('never has more pushes under way than the route allows', async () => {
      start({ concurrency: 3 });
      webhook.hold();
      for (let i = 0; i < 9; i += 1) await broker.source.send('changes', message(String(i)));
      await until(() => webhook.underWay === 3);
      for (let done = 1; done <= 9; done += 1) {
        webhook.releaseOne();
        await until(() => webhook.requests.length === Math.min(9, 3 + done));
      }
      assert.equal(webhook.mostUnderWay, 3);
    });

    it('delivers what was published while the function was down', async () => {
      await webhook.close();
      const bridge = start();
      await broker.source.send('changes', message('hello'));
      await until(() => bridge.logger.of('message pushed').length > 0);
      assert.equal(statuses(bridge)[0], 'ECONNREFUSED');
      await webhook.reopen();
      assert.deepEqual(texts(await webhook.received(1)), ['hello']);
    });

    it('takes a function that is slower than the ack deadline for one that refused', async () => {
      const bridge = start({ ackDeadlineMs: 200 });
      webhook.hold();
      await broker.source.send('changes', message('slow'));
      await until(() => bridge.logger.of('message pushed').length > 0);
      assert.equal(statuses(bridge)[0], 'TimeoutError');
      webhook.unhold();
      assert.deepEqual(texts(await webhook.received(2)), ['slow', 'slow']);
    });

    it('R75: goes on with the other instances when one is gone and one never answers, and delivers its messages again', async () => {
      const [gone, frozen] = [await startFunctionStub(), await startFunctionStub()];
      await gone.close();
      frozen.hold();
      start({ instances: new Instances([gone.url, frozen.url, webhook.url]), concurrency: 1, ackDeadlineMs: 300 });
      for (let i = 0; i < 9; i += 1) await broker.source.send('changes', message(String(i)));
      await webhook.received(9);
      assert.deepEqual(new Set(texts(webhook.requests)).size, 9);
      assert.ok(frozen.requests.length > 0);
      await frozen.close();
    });

    it('P51: gives messages in hand back when it stops, to the next bridge', async () => {
      const first = start({ minimumBackoffMs: 60_000, maximumBackoffMs: 60_000 });
      webhook.answer = () => 500;
      await broker.source.send('changes', message('hello'));
      await webhook.received(1);
      await until(() => first.logger.of('message pushed').length === 1);
      await first.stop();
      webhook.answer = () => 204;
      start();
      const [before, after] = (await webhook.received(2)).map(({ body }) => JSON.parse(body).message.messageId);
      assert.equal(after, before);
    });

    it('finishes a push that is under way before it stops', async () => {
      const first = start();
      webhook.hold();
      await broker.source.send('changes', message('hello'));
      await until(() => webhook.underWay === 1);
      const stopped = first.stop();
      webhook.unhold();
      await stopped;
      start();
      await broker.source.send('changes', message('next'));
      assert.deepEqual(texts(await webhook.received(2)), ['hello', 'next']);
    });
  });
}

describe('the scheduler of the push bridge', { timeout: 20_000 }, () => {
  it('calls the sweep function again and again, never while it still runs', async () => {
    const sweep = await startFunctionStub();
    const pusher = createPusher();
    const stopping = new AbortController();
    sweep.hold();
    const logger = new LogLines();
    const done = runScheduler({ url: sweep.url, everyMs: 1, pusher, clock, logger }, stopping.signal);
    for (let call = 1; call <= 5; call += 1) {
      await until(() => sweep.requests.length === call);
      sweep.releaseOne();
    }
    assert.equal(sweep.mostUnderWay, 1);
    assert.equal(sweep.requests[0]?.headers['x-cloudscheduler'], 'true');
    stopping.abort();
    await done;
    await pusher.close();
    await sweep.close();
    assert.deepEqual(logger.of('sweep failed'), []);
  });
});

const defaults: Omit<Route, 'instances'> = {
  queue: 'changes',
  subscription: 'driftless-changes',
  concurrency: 16,
  ackDeadlineMs: 10_000,
  minimumBackoffMs: 10,
  maximumBackoffMs: 100,
  maxDeliveryAttempts: 1_000,
};

interface OpenSource {
  readonly source: Source;
  close(): Promise<void>;
}

async function openEmbedded(): Promise<OpenSource> {
  const broker = new MemoryBroker({ clock, random: new SystemRandom() });
  const server = await startEmbeddedServer({ store: new MemoryWorkStore({ clock }), broker, port: 0 });
  const source = openEmbeddedSource({ url: server.url, clock });
  return {
    source,
    async close() {
      await source.close();
      await server.close();
    },
  };
}

async function openEmulator(host: string): Promise<OpenSource> {
  const source = await openPubSubSource({
    projectId: 'demo-bridge',
    emulatorHost: host,
    prefix: `bridge-${randomUUID()}`,
  });
  return { source, close: () => source.close() };
}

function message(text: string, attributes: Readonly<Record<string, string>> = {}) {
  return { data: Buffer.from(text).toString('base64'), attributes };
}

function textOf(body: string): string {
  return Buffer.from(JSON.parse(body).message.data, 'base64').toString();
}

function texts(requests: readonly { readonly body: string }[]): readonly string[] {
  return requests.map(({ body }) => textOf(body));
}

function statuses({ logger }: { readonly logger: LogLines }): readonly unknown[] {
  return logger.of('message pushed').map(({ status }) => status);
}

async function takeOne(source: Source, queue: 'dead-letter'): Promise<HeldMessage> {
  const stopping = new AbortController();
  const taken = Promise.withResolvers<HeldMessage>();
  const pulling = source.pull(
    queue,
    1,
    async (held) => {
      taken.resolve(held);
      return 'ack';
    },
    stopping.signal,
  );
  const first = await taken.promise;
  stopping.abort();
  await pulling;
  return first;
}

class LogLines implements Logger {
  readonly #lines: { readonly message: string; readonly fields: LogFields }[] = [];

  debug(message: string, fields: LogFields = {}): void {
    this.#lines.push({ message, fields });
  }
  info(message: string, fields?: LogFields): void {
    this.debug(message, fields);
  }
  warn(message: string, fields?: LogFields): void {
    this.debug(message, fields);
  }
  error(message: string, fields?: LogFields): void {
    this.debug(message, fields);
  }

  of(message: string): readonly LogFields[] {
    return this.#lines.filter((line) => line.message === message).map(({ fields }) => fields);
  }
}
