import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { inspect } from 'node:util';
import { objectPath } from '../../../shared/adapters/kubernetes/paths.ts';
import type { ApiRequest, Transport } from '../../../shared/adapters/kubernetes/transport.ts';
import { OperatorError, TerminalError } from '../../../shared/errors.ts';
import { ApiError } from '../../../shared/kube/api-error.ts';
import type { Kind } from '../../../shared/kube/kind.ts';
import { answer, type FakeApiServerOptions, fakeApiServer, hang } from './fake-api-server.ts';

const READ: ApiRequest = {
  method: 'GET',
  path: '/api/v1/namespaces/default/configmaps/a',
  what: 'get ConfigMap default/a',
};
const signal = () => AbortSignal.timeout(10_000);

describe('the Kubernetes transport', () => {
  it('says who asks, and with which token', async (t) => {
    let headers: IncomingHttpHeaders = {};
    const { transport } = await serve(t, {
      answers: [
        (request, response) => {
          headers = request.headers;
          response.end('{}');
        },
      ],
    });
    await transport.call(READ, signal());
    const { authorization, accept, 'user-agent': agent = '' } = headers;
    assert.deepEqual([authorization, accept], ['Bearer first', 'application/json']);
    assert.match(agent, /^driftless\/\d+\.\d+\.\d+$/);
  });

  it('renews a refused token once, and asks again with the new one', async (t) => {
    const seen: (string | undefined)[] = [];
    const { transport, requests } = await serve(t, {
      renewed: 'Bearer second',
      answers: [
        (request, response) => {
          seen.push(request.headers.authorization);
          response.writeHead(request.headers.authorization === 'Bearer second' ? 200 : 401).end('{"ok":true}');
        },
      ],
    });
    assert.deepEqual(await transport.call(READ, signal()), { code: 200, body: { ok: true } });
    assert.deepEqual(seen, ['Bearer first', 'Bearer second']);
    assert.equal(requests.length, 2);
  });

  it('does not ask twice with the same token', async (t) => {
    const { transport, requests } = await serve(t, {
      answers: [answer(401, { kind: 'Status', code: 401, reason: 'Unauthorized', message: 'Unauthorized' })],
    });
    await assert.rejects(transport.call(READ, signal()), (e) => e instanceof ApiError && e.status.code === 401);
    assert.equal(requests.length, 1);
  });

  const date = 'Mon, 30 Nov 2026 20:00:00 GMT';
  for (const [what, sent, status] of [
    [
      'priority and fairness: seconds and plain text',
      answer(429, 'Too many requests, please try again later.\n', { 'retry-after': '2' }),
      { code: 429, reason: '', message: 'Too many requests, please try again later.', causes: [], retryAfterMs: 2000 },
    ],
    [
      'a date, by the clock of the server',
      answer(503, 'away', { date, 'retry-after': 'Mon, 30 Nov 2026 20:00:07 GMT' }),
      { code: 503, reason: '', message: 'away', causes: [], retryAfterMs: 7000 },
    ],
    [
      'a delay in the Status only',
      answer(429, {
        kind: 'Status',
        code: 429,
        reason: 'TooManyRequests',
        message: 'storage is (re)initializing',
        details: { retryAfterSeconds: 1 },
      }),
      { code: 429, reason: 'TooManyRequests', message: 'storage is (re)initializing', causes: [], retryAfterMs: 1000 },
    ],
    [
      'an unknown path',
      answer(404, '404 page not found\n'),
      { code: 404, reason: '', message: '404 page not found', causes: [] },
    ],
    [
      'a field that the schema does not know',
      answer(500, { kind: 'Status', code: 500, message: 'field not declared in schema' }),
      { code: 500, reason: '', message: 'field not declared in schema', causes: [] },
    ],
    [
      'JSON of somebody else',
      answer(502, '{"message":"bad gateway"}'),
      { code: 502, reason: '', message: '{"message":"bad gateway"}', causes: [] },
    ],
  ] as const) {
    it(`understands a refusal: ${what}`, async (t) => {
      const { transport } = await serve(t, { answers: [sent] });
      const error = await transport.call(READ, signal()).catch((e: unknown) => e);
      assert.ok(error instanceof ApiError);
      assert.deepEqual(error.status, status);
    });
  }

  it('reads only the start of an endless refusal', async (t) => {
    const { transport } = await serve(t, { answers: [answer(500, 'x'.repeat(1_000_000))] });
    const error = await transport.call(READ, signal()).catch((e: unknown) => e);
    assert.ok(error instanceof ApiError);
    assert.equal(error.status.message.length, 65_536);
  });

  it('an answer that is not JSON, breaks off, or never was, is transient', async (t) => {
    const garbled = await serve(t, { answers: [answer(200, '<html>')] });
    await assert.rejects(garbled.transport.call(READ, signal()), hasCode('API_CORRUPT'));

    const broken = await serve(t, {
      answers: [(_, response) => void response.writeHead(200).write('{', () => response.destroy())],
    });
    await assert.rejects(broken.transport.call(READ, signal()), hasCode('API_UNREACHABLE'));

    const gone = await fakeApiServer({ answers: [] });
    await gone.close();
    await assert.rejects(gone.transport.call(READ, signal()), hasCode('API_UNREACHABLE'));
  });

  it('R73: an answer that cannot be read is not quoted in the error', async (t) => {
    const { transport } = await serve(t, { answers: [answer(200, '{"data":{"password":hunter2}}')] });
    const error = await transport.call(READ, signal()).catch((e: unknown) => e);
    assert.equal(inspect(error).includes('hunter2'), false);
  });

  it('an abort ends a call at once, with its reason', async (t) => {
    const { transport } = await serve(t, { answers: [hang('{')] });
    const stop = new AbortController();
    const reason = new Error('enough');
    setTimeout(() => stop.abort(reason), 20);
    await assert.rejects(transport.call(READ, stop.signal), (error) => error === reason);
  });
});

describe('paths of the Kubernetes API', () => {
  const Deployment: Kind = {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    namespaced: true,
  };
  const ClusterRole: Kind = {
    group: 'rbac.authorization.k8s.io',
    version: 'v1',
    kind: 'ClusterRole',
    plural: 'clusterroles',
    namespaced: false,
  };
  const Secret: Kind = { group: '', version: 'v1', kind: 'Secret', plural: 'secrets', namespaced: true };

  it('name one object, in or without a namespace, in or without a group', () => {
    assert.equal(
      objectPath(Deployment, { namespace: 'default', name: 'web' }, 'status'),
      '/apis/apps/v1/namespaces/default/deployments/web/status',
    );
    assert.equal(objectPath(Secret, { namespace: 'a', name: 'b' }), '/api/v1/namespaces/a/secrets/b');
    assert.equal(
      objectPath(ClusterRole, { namespace: '', name: 'My:Role/x' }),
      '/apis/rbac.authorization.k8s.io/v1/clusterroles/My%3ARole%2Fx',
    );
  });

  for (const [what, kind, key] of [
    ['without a name, which would be the whole collection', Secret, { namespace: 'a', name: '' }],
    ['that leaves its folder', Secret, { namespace: 'a', name: '..' }],
    ['without the namespace that its kind needs', Secret, { namespace: '', name: 'a' }],
    ['P28: with a namespace that its kind does not have', ClusterRole, { namespace: 'a', name: 'b' }],
  ] as const) {
    it(`refuse a key ${what}`, () => {
      assert.throws(
        () => objectPath(kind, key),
        (e) => e instanceof TerminalError && e.code === 'INVALID_KEY',
      );
    });
  }
});

async function serve(
  t: TestContext,
  options: FakeApiServerOptions,
): Promise<{ transport: Transport; requests: readonly string[] }> {
  const server = await fakeApiServer(options);
  t.after(() => server.close());
  return server;
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof OperatorError && error.code === code;
}
