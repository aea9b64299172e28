import assert from 'node:assert/strict';
import { after, afterEach, before, beforeEach, describe, it } from 'node:test';
import { readConfig } from '../../infra/local/push-bridge/config.ts';
import { EmbeddedPublisher } from '../../shared/adapters/embedded/publisher.ts';
import { ConfigError } from '../../shared/errors.ts';
import { decodePush } from '../../shared/message/push.ts';
import { doorbell } from '../support/doorbells.ts';
import { type FunctionStub, startFunctionStub } from './push-bridge-function.ts';
import { type StartedProcess, startProcess } from './push-bridge-process.ts';
import { until } from './push-bridge-until.ts';

describe('the push bridge as a process', { timeout: 60_000 }, () => {
  let embedded: StartedProcess;
  let embeddedUrl: string;
  let publisher: EmbeddedPublisher;
  let reconcile: FunctionStub;
  let bridges: StartedProcess[];

  before(async () => {
    embedded = startProcess('embedded', { DRIFTLESS_EMBEDDED_PORT: '0' });
    const { url } = await embedded.line('embedded server ready');
    embeddedUrl = String(url);
    publisher = new EmbeddedPublisher({ url: embeddedUrl });
  });
  after(async () => {
    await publisher.close();
    embedded.kill('SIGTERM');
    assert.deepEqual(await embedded.ended, { status: 0, stderr: '' });
  });
  beforeEach(async () => {
    reconcile = await startFunctionStub();
    bridges = [];
  });
  afterEach(async () => {
    for (const bridge of bridges) bridge.kill('SIGKILL');
    await Promise.all(bridges.map(({ ended }) => ended));
    await reconcile.close();
  });

  async function startBridge(env: Readonly<Record<string, string>> = {}): Promise<StartedProcess> {
    const bridge = startProcess('push-bridge', {
      DRIFTLESS_EMBEDDED_URL: embeddedUrl,
      DRIFTLESS_PUSH_URL: reconcile.url,
      ...env,
    });
    bridges.push(bridge);
    await bridge.line('push bridge ready');
    return bridge;
  }

  it('R60: brings doorbells of both topics to the function, and calls the sweep', async () => {
    const sweep = await startFunctionStub();
    const bridge = await startBridge({ DRIFTLESS_SWEEP_URL: sweep.url, DRIFTLESS_SWEEP_EVERY_MS: '10' });
    const id = await publisher.publish('changes', doorbell());
    const [request] = await reconcile.received(1);
    assert.ok(request);
    assert.deepEqual(decodePush(request), {
      messageId: id,
      deliveryAttempt: 1,
      topic: 'changes',
      doorbell: doorbell(),
    });

    await publisher.publish('background', doorbell({ news: { kind: 'alarm' } }));
    await reconcile.received(2);
    await sweep.received(2);
    await sweep.close();

    bridge.kill('SIGTERM');
    assert.deepEqual(await bridge.ended, { status: 0, stderr: '' });
    assert.deepEqual(
      bridge.lines
        .filter(({ message }) => message === 'message pushed')
        .map(({ topic, status }) => ({ topic, status })),
      [
        { topic: 'changes', status: 204 },
        { topic: 'background', status: 204 },
      ],
    );
  });

  it('R75: loses nothing when it is killed with messages in hand', async () => {
    reconcile.answer = () => 500;
    const first = await startBridge({ DRIFTLESS_MINIMUM_BACKOFF_MS: '60000', DRIFTLESS_MAXIMUM_BACKOFF_MS: '60000' });
    const id = await publisher.publish('changes', doorbell());
    await reconcile.received(1);
    first.kill('SIGKILL');
    await first.ended;

    reconcile.answer = () => 204;
    await startBridge();
    await until(() => reconcile.requests.length === 2, 20_000);
    assert.deepEqual(
      reconcile.requests.map((request) => decodePush(request).messageId),
      [id, id],
    );
  });

  it('stops within seconds while a function hangs', async () => {
    const bridge = await startBridge();
    reconcile.hold();
    const id = await publisher.publish('changes', doorbell());
    await until(() => reconcile.underWay === 1);
    bridge.kill('SIGTERM');
    assert.equal((await bridge.ended).status, 0);

    // What was cut off was given back.
    await reconcile.close();
    await reconcile.reopen();
    await startBridge();
    const [, again] = await reconcile.received(2);
    assert.ok(again);
    assert.equal(decodePush(again).messageId, id);
  });

  it('R63: names every setting that is wrong, and ends with status 2', async () => {
    const bridge = startProcess('push-bridge', {
      GOOGLE_CLOUD_PROJECT: 'production',
      DRIFTLESS_PUSH_URL: 'reconcile',
      DRIFTLESS_CHANGES_CONCURRENCY: '0',
    });
    const { status, stderr } = await bridge.ended;
    assert.equal(status, 2);
    for (const name of [
      'GOOGLE_CLOUD_PROJECT',
      'PUBSUB_EMULATOR_HOST',
      'DRIFTLESS_PUSH_URL',
      'DRIFTLESS_CHANGES_CONCURRENCY',
    ]) {
      assert.match(stderr, new RegExp(`^  - ${name}: `, 'm'));
    }
  });

  it('refuses two brokers at once', () => {
    const env = { PUBSUB_EMULATOR_HOST: '127.0.0.1:1', DRIFTLESS_EMBEDDED_URL: 'http://127.0.0.1:2' };
    assert.throws(
      () => readConfig({ ...env, DRIFTLESS_PUSH_URL: 'http://127.0.0.1:3/' }),
      (error) =>
        error instanceof ConfigError &&
        /exactly one of PUBSUB_EMULATOR_HOST and DRIFTLESS_EMBEDDED_URL/.test(error.message) &&
        error.problems.length === 1,
    );
  });
});
