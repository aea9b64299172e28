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
import { type ApiServer, KUBECONFIG, NO_API_SERVER, openApiServer } from '../contract/cluster-api-server.ts';

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
    kubeconfig = join(directory, 'kubeconfig');
    const named = (name: string, rest: object) => [{ name, ...rest }];
    await writeFile(
      kubeconfig,
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Config',
        // Nobody listens on port 1.
        clusters: named('c', { cluster: { server: 'https://127.0.0.1:1' } }),
        users: named('u', { user: { token: 'none' } }),
        contexts: named('x', { context: { cluster: 'c', user: 'u' } }),
        'current-context': 'x',
      }),
    );
  });
  after(() => rm(directory, { recursive: true }));

  it('R63: names every setting that is wrong at once, and ends with 2', async (test) => {
    const forwarder = new Process(test, {
      GOOGLE_CLOUD_PROJECT: '',
      DRIFTLESS_EMBEDDED_URL: 'nonsense',
      LOG_LEVEL: 'loud',
      PORT: '70000',
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

describe('forwarder process on a real API server', { skip: NO_API_SERVER }, () => {
  const signal = AbortSignal.timeout(60_000);
  const broker = new MemoryBroker({ clock: new SystemClock(), random: new SystemRandom() });
  let server: ApiServer;
  let embedded: Awaited<ReturnType<typeof startEmbeddedServer>>;

  before(async () => {
    server = await openApiServer();
    embedded = await startEmbeddedServer({ store: new MemoryWorkStore({ clock: new SystemClock() }), broker, port: 0 });
    await installCrds(server.cluster, signal);
  });
  after(async () => {
    await embedded.close();
    await server.close();
  });

  /** The triggers of what was sent about one namespace, and all data as it travelled. */
  async function sentTo(namespace: string, seen: string[], data: string[]): Promise<void> {
    for (const topic of ['changes', 'background'] as const) {
      const messages = await broker.pull(topic, { max: 1_000, waitMs: 0 }, signal);
      broker.ack(
        topic,
        messages.map(({ messageId }) => messageId),
      );
      for (const message of messages) {
        const { key, trigger } = decode(message.data);
        data.push(message.data + JSON.stringify(message.attributes));
        if (key.namespace === namespace) seen.push(`${topic} ${trigger}`);
      }
    }
  }

  it('R20 P76: rings what exists, what changes and what goes, and lets no value of an annotation out', async (test) => {
    const namespace = await server.namespace();
    const [seen, data]: [string[], string[]] = [[], []];
    const apply = (name: string, image: string) =>
      server.cluster.apply(
        WebApp as Kind,
        {
          apiVersion: 'apps.driftless.dev/v1',
          kind: 'WebApp',
          metadata: { name, namespace, annotations: { note: 'secret-note', image } },
          spec: { image },
        } as KubeObject,
        { fieldManager: 'test', signal },
      );
    await apply('old', 'nginx:1');

    const forwarder = new Process(test, { KUBECONFIG: KUBECONFIG ?? '', DRIFTLESS_EMBEDDED_URL: embedded.url });
    await forwarder.said('forwarder synced');
    assert.equal((await forwarder.get('/readyz')).status, 200);
    const rung = async (trigger: string) => {
      const found = `${trigger} ${namespace}/`;
      await until(async () => {
        await sentTo(namespace, seen, data);
        return seen.find((text) => text.startsWith(found));
      }, `'${found}…' is rung`);
    };

    await rung('background LISTED WebApp');
    const { object } = await apply('new', 'nginx:1');
    await rung('changes ADDED WebApp');
    await apply('old', 'nginx:2');
    await rung('changes MODIFIED WebApp');
    await server.cluster.delete(WebApp as Kind, object, signal);
    await rung('changes DELETED WebApp');

    forwarder.kill('SIGTERM');
    assert.equal(await forwarder.ended, 0);
    assert.deepEqual(seen, [
      `background LISTED WebApp ${namespace}/old`,
      `changes ADDED WebApp ${namespace}/new`,
      `changes MODIFIED WebApp ${namespace}/old`,
      `changes DELETED WebApp ${namespace}/new`,
    ]);
    assert.equal(
      data.find((text) => text.includes('secret-note') || text.includes('nginx')),
      undefined,
    );
  });
});
