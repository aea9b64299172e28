import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebApp } from '../../functions/controllers/webapp/kind.ts';
import { installCrds } from '../../infra/local/crds.ts';
import { startEmbeddedServer } from '../../infra/local/embedded/server.ts';
import { MemoryBroker } from '../../shared/adapters/memory/broker.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { SystemClock } from '../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject } from '../../shared/kube/object.ts';
import { decode } from '../../shared/message/codec.ts';
import { KUBECONFIG, NO_API_SERVER, openApiServer } from '../contract/cluster-api-server.ts';
import { itemKey, workItem } from '../support/work-items.ts';

/** Without the type of its objects, as the ports take it. */
const KIND: Kind = WebApp as Kind;

interface Line {
  readonly message: string;
  readonly [field: string]: unknown;
}

/** The forwarder as a process of its own, with nothing of our environment. Ends with the test. */
class Process {
  readonly lines: Line[] = [];
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;

  constructor(test: TestContext, env: Readonly<Record<string, string>>) {
    this.#child = spawn(process.execPath, ['infra/forwarder/main.ts'], {
      env: { PORT: '0', GOOGLE_CLOUD_PROJECT: 'demo-driftless', ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.ended = new Promise((resolve) => this.#child.once('close', (code) => resolve(code)));
    if (this.#child.stdout !== null) {
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.lines.push(JSON.parse(line) as Line));
    }
    test.after(async () => {
      this.#child.kill('SIGKILL');
      await this.ended;
    });
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** The first line with this message. */
  async said(message: string): Promise<Line> {
    return await until(() => this.lines.find((line) => line.message === message), `the forwarder says '${message}'`);
  }

  /** What a health endpoint answers. */
  async get(path: string): Promise<{ readonly status: number; readonly body: unknown }> {
    const { port } = await this.said('forwarder started');
    const response = await fetch(`http://127.0.0.1:${port}${path}`);
    return { status: response.status, body: await response.json() };
  }
}

/** The path of a kubeconfig whose API server does not exist: nobody listens on port 1. */
async function kubeconfigOfNobody(directory: string): Promise<string> {
  const path = join(directory, 'kubeconfig');
  const named = (name: string, rest: object) => [{ name, ...rest }];
  await writeFile(
    path,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: named('c', { cluster: { server: 'https://127.0.0.1:1' } }),
      users: named('u', { user: { token: 'none' } }),
      contexts: named('x', { context: { cluster: 'c', user: 'u' } }),
      'current-context': 'x',
    }),
  );
  return path;
}

async function until<T>(look: () => T | undefined | Promise<T | undefined>, what: string): Promise<T> {
  for (const deadline = performance.now() + 30_000; performance.now() < deadline; await sleep(20)) {
    const found = await look();
    if (found !== undefined) return found;
  }
  throw new Error(`waited in vain until ${what}`);
}

describe('forwarder process without a cluster', () => {
  let directory = '';
  let kubeconfig = '';

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'driftless-forwarder-'));
    kubeconfig = await kubeconfigOfNobody(directory);
  });
  after(() => rm(directory, { recursive: true }));

  it('R63: names every setting that is wrong at once, and ends with 2', async (test) => {
    const forwarder = new Process(test, {
      GOOGLE_CLOUD_PROJECT: '',
      DRIFTLESS_EMBEDDED_URL: 'nonsense',
      LOG_LEVEL: 'loud',
      PORT: '70000',
      DRIFTLESS_ALARM_CLOCK: 'yes',
      DRIFTLESS_ALARMS_PER_SECOND: '0',
    });
    assert.equal(await forwarder.ended, 2);
    const { problems } = await forwarder.said('settings are invalid');
    assert.deepEqual(
      (problems as readonly string[]).map((problem) => [problem.split(':')[0], /\((.*)\)$/.exec(problem)?.[1]]),
      [
        ['GOOGLE_CLOUD_PROJECT', "seen: ''"],
        ['DRIFTLESS_EMBEDDED_URL', "seen: 'nonsense'"],
        ['LOG_LEVEL', "seen: 'loud'"],
        ['PORT', "seen: '70000'"],
        ['DRIFTLESS_ALARM_CLOCK', "seen: 'yes'"],
        ['DRIFTLESS_ALARMS_PER_SECOND', "seen: '0'"],
      ],
    );
  });

  it('R63: ends with 2 when the kubeconfig cannot be read', async (test) => {
    const forwarder = new Process(test, { KUBECONFIG: join(directory, 'missing') });
    assert.equal(await forwarder.ended, 2);
    assert.match(String((await forwarder.said('settings are invalid'))['problems']), /no such file/);
  });

  it('R63: ends with 1 when its port is taken', async (test) => {
    const server = createServer().listen(0);
    test.after(() => server.close());
    await until(() => (server.listening ? true : undefined), 'the server listens');
    const { port } = server.address() as AddressInfo;
    const forwarder = new Process(test, { KUBECONFIG: kubeconfig, PORT: String(port) });
    assert.equal(await forwarder.ended, 1);
    assert.match(JSON.stringify(await forwarder.said('forwarder cannot work')), /EADDRINUSE/);
  });

  it('waits for a cluster that is away: alive, not ready, and says why; SIGTERM ends it with 0', async (test) => {
    const forwarder = new Process(test, { KUBECONFIG: kubeconfig });
    await forwarder.said('watch failed');
    assert.equal((await forwarder.get('/healthz')).status, 200);
    const { status, body } = await forwarder.get('/readyz');
    assert.equal(status, 503);
    assert.match(JSON.stringify(body), /Deployment\.apps is not listed yet: .*ECONNREFUSED/);
    forwarder.kill('SIGTERM');
    assert.equal(await forwarder.ended, 0);
  });
});

describe('forwarder process with the alarm clock', () => {
  it('P51: rings alarms though the cluster is away, says how it does, and ends with 0', async (test) => {
    const [clock, random, { signal }] = [new SystemClock(), new SystemRandom(), new AbortController()];
    const [broker, store] = [new MemoryBroker({ clock, random }), new MemoryWorkStore({ clock })];
    const embedded = await startEmbeddedServer({ store, broker, port: 0 });
    test.after(() => embedded.close());
    const directory = await mkdtemp(join(tmpdir(), 'driftless-forwarder-'));
    test.after(() => rm(directory, { recursive: true }));
    const kubeconfig = await kubeconfigOfNobody(directory);

    const forwarder = new Process(test, {
      KUBECONFIG: kubeconfig,
      DRIFTLESS_EMBEDDED_URL: embedded.url,
      DRIFTLESS_ALARM_CLOCK: 'on',
    });
    await forwarder.said('forwarder started');
    const key = itemKey();
    const { nowMs } = await store.read(key, signal);
    await store.write(workItem({ key, alarm: { wakeAt: nowMs + 300, reason: 'backoff' } }), undefined, signal);
    const [message] = await broker.pull('changes', { max: 1, waitMs: 30_000 }, signal);
    assert.deepEqual(decode(message?.data ?? ''), { key, news: { kind: 'alarm' }, trigger: 'alarm' });

    const { lateMs } = await forwarder.said('alarm rung');
    test.diagnostic(`rung ${String(lateMs)} ms after its time`);
    const { alarms } = (await forwarder.get('/statusz')).body as { readonly alarms: Readonly<Record<string, unknown>> };
    assert.deepEqual([alarms['phase'], alarms['rung'], alarms['failures']], ['listening', 1, 0]);
    forwarder.kill('SIGTERM');
    assert.equal(await forwarder.ended, 0);
  });
});

describe('forwarder process on a real API server', () => {
  it('R20 P76: rings what exists, changes and goes, and lets no annotation out', {
    skip: NO_API_SERVER,
  }, async (test) => {
    const signal = AbortSignal.timeout(60_000);
    const [clock, random] = [new SystemClock(), new SystemRandom()];
    const server = await openApiServer();
    test.after(() => server.close());
    const broker = new MemoryBroker({ clock, random });
    const embedded = await startEmbeddedServer({ store: new MemoryWorkStore({ clock }), broker, port: 0 });
    test.after(() => embedded.close());
    await installCrds(server.cluster, signal);

    const namespace = await server.namespace();
    const apply = (name: string, image: string) => {
      const metadata = { name, namespace, annotations: { note: 'secret-note' } };
      const object: KubeObject = { apiVersion: 'apps.driftless.dev/v1', kind: 'WebApp', metadata, spec: { image } };
      return server.cluster.apply(KIND, object, { fieldManager: 'test', signal });
    };
    await apply('old', 'nginx:1');
    const forwarder = new Process(test, { KUBECONFIG: KUBECONFIG ?? '', DRIFTLESS_EMBEDDED_URL: embedded.url });
    await forwarder.said('forwarder synced');
    assert.equal((await forwarder.get('/readyz')).status, 200);

    const data: string[] = [];
    const heard: string[] = [];
    const rung = (text: string) =>
      until(async () => {
        for (const message of await drain(broker, signal)) {
          const { key, trigger } = decode(message.data);
          data.push(JSON.stringify(message));
          if (key.namespace === namespace) heard.push(trigger);
        }
        return heard.includes(text) || undefined;
      }, `'${text}' is rung`);

    await rung(`LISTED WebApp ${namespace}/old`);
    const { object } = await apply('new', 'nginx:1');
    await rung(`ADDED WebApp ${namespace}/new`);
    await apply('old', 'nginx:2');
    await rung(`MODIFIED WebApp ${namespace}/old`);
    await server.cluster.delete(KIND, object, signal);
    await rung(`DELETED WebApp ${namespace}/new`);

    forwarder.kill('SIGTERM');
    assert.equal(await forwarder.ended, 0);
    assert.equal(heard.length, 4);
    assert.equal(
      data.find((text) => text.includes('secret-note') || text.includes('nginx')),
      undefined,
    );
  });
});

async function drain(broker: MemoryBroker, signal: AbortSignal) {
  const pulled = await Promise.all(
    (['changes', 'background'] as const).map(async (topic) => {
      const messages = await broker.pull(topic, { max: 1_000, waitMs: 0 }, signal);
      broker.ack(
        topic,
        messages.map(({ messageId }) => messageId),
      );
      return messages;
    }),
  );
  return pulled.flat();
}
