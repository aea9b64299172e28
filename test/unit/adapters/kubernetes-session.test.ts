import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { createGuard } from '../../../shared/adapters/cockatiel/guard.ts';
import { KubernetesCluster } from '../../../shared/adapters/kubernetes/cluster.ts';
import { LeaseLostError } from '../../../shared/errors.ts';
import { ConfigMap } from '../../../shared/kube/builtin.ts';
import type { Holder } from '../../../shared/ports/cluster.ts';
import { type Answer, answer, type FakeApiServerOptions, fakeApiServer } from './fake-api-server.ts';

const OBJECT = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'default', name: 'a' } };
const options = () => ({ fieldManager: 'driftless/webapp', signal: AbortSignal.timeout(10_000) });

describe('a session of the Kubernetes adapter', () => {
  it('R22: says in each request whose it is', async (t) => {
    const agents: IncomingHttpHeaders[string][] = [];
    const noting: Answer = (request, response) => {
      agents.push(request.headers['user-agent']);
      response.end(JSON.stringify(OBJECT));
    };
    const { session } = await serve(t, { answers: [noting] });
    await session.get(ConfigMap, { namespace: 'default', name: 'a' }, AbortSignal.timeout(10_000));
    await session.create(ConfigMap, OBJECT, options());
    const name = 'driftless/webapp reconcile-00001-abc.8c2f.1d9a';
    assert.deepEqual(agents, [name, name]);
  });

  it('R22: in strict mode sends each request as the user whom the policy watches, for its holder', async (t) => {
    const seen: unknown[] = [];
    const noting: Answer = ({ headers }, response) => {
      seen.push([headers['impersonate-user'], headers['impersonate-extra-driftless-holder']]);
      response.end(JSON.stringify(OBJECT));
    };
    const { transport, close } = await fakeApiServer({ answers: [noting] });
    t.after(close);
    const holder = { controller: 'webapp', holderIdentity: 'rev.instance.claim', assertLeased: () => undefined };
    const session = new KubernetesCluster(transport, { add: async () => undefined }).actingFor(holder);
    await session.get(ConfigMap, { namespace: 'default', name: 'a' }, AbortSignal.timeout(10_000));
    await session.create(ConfigMap, OBJECT, options());
    const user = ['driftless-worker', 'rev.instance.claim'];
    assert.deepEqual(seen, [user, user]);
  });

  it('R22: a write that waited for its turn until the lease was over is not sent', async (t) => {
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const slow: Answer = async (_, response) => {
      asked.resolve();
      await go.promise;
      response.end(JSON.stringify(OBJECT));
    };
    let leased = true;
    const guard = createGuard({ name: 'API server', timeoutMs: 10_000, bulkhead: { concurrency: 1, queue: 1 } });
    const { session, requests } = await serve(t, { answers: [slow], guard }, () => assertThat(leased));
    const first = session.create(ConfigMap, OBJECT, options());
    await asked.promise;
    const second = session.create(ConfigMap, OBJECT, options());
    leased = false;
    go.resolve();
    assert.deepEqual(await first, OBJECT);
    await assert.rejects(second, LeaseLostError);
    assert.equal(requests.length, 1);
  });

  it('R22: a write is not sent again once the lease is over', async (t) => {
    let leased = true;
    const away: Answer = (request, response) => {
      leased = false;
      return answer(503, 'away', { 'retry-after': '0' })(request, response);
    };
    const guard = createGuard({ name: 'API server', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 10 } });
    const { session, requests } = await serve(t, { answers: [away], guard }, () => assertThat(leased));
    await assert.rejects(session.create(ConfigMap, OBJECT, options()), LeaseLostError);
    assert.equal(requests.length, 1);
  });
});

function assertThat(leased: boolean): void {
  if (!leased) throw new LeaseLostError('over');
}

async function serve(t: TestContext, options: FakeApiServerOptions, assertLeased: Holder['assertLeased'] = () => {}) {
  const { transport, requests, close } = await fakeApiServer(options);
  t.after(close);
  const holder = { controller: 'webapp', holderIdentity: 'reconcile-00001-abc.8c2f.1d9a', assertLeased };
  return { session: new KubernetesCluster(transport).actingFor(holder), requests };
}
