import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { linesOf } from '../../../shared/adapters/kubernetes/lines.ts';
import { KubernetesMetadataSource } from '../../../shared/adapters/kubernetes/metadata-source.ts';
import { TransientError } from '../../../shared/errors.ts';
import { ApiError } from '../../../shared/kube/api-error.ts';
import type { Kind } from '../../../shared/kube/kind.ts';
import { WatchExpiredError } from '../../../shared/kube/watch-error.ts';
import type { WatchEvent } from '../../../shared/kube/watch-event.ts';
import type { WatchStart } from '../../../shared/ports/metadata-source.ts';
import {
  answer,
  type FakeApiServer,
  type FakeApiServerOptions,
  fakeApiServer,
  hang,
  ignore,
  stream,
} from './fake-api-server.ts';

const Gizmo: Kind = { group: 'test.driftless.dev', version: 'v1', kind: 'Gizmo', plural: 'gizmos', namespaced: true };
const random = { fraction: () => 0.5, id: () => 'id' };
const signal = () => AbortSignal.timeout(10_000);

describe('the Kubernetes metadata source, on streams as they rarely come', () => {
  it('asks for metadata, bookmarks, and an end of the watch between 5 and 10 minutes', async (t) => {
    const { source, server } = await serve(t, { answers: [stream()] });
    await collect(source, { from: 'list' });
    await collect(source, { from: 'version', resourceVersion: '7' });
    assert.deepEqual(server.requests, [
      'GET /apis/test.driftless.dev/v1/gizmos?watch=1&allowWatchBookmarks=true&timeoutSeconds=450&sendInitialEvents=true&resourceVersionMatch=NotOlderThan',
      'GET /apis/test.driftless.dev/v1/gizmos?watch=1&allowWatchBookmarks=true&timeoutSeconds=450&resourceVersion=7',
    ]);
  });

  it('ends without an error when the server ends the stream', async (t) => {
    const { source } = await serve(t, { answers: [stream(added('a'), bookmark())] });
    assert.deepEqual(await collect(source), [
      { type: 'ADDED', meta: { name: 'a', uid: 'uid-a', resourceVersion: '5' } },
      { type: 'BOOKMARK', resourceVersion: '9', initialEventsEnd: true },
    ]);
  });

  it('P06e: reads characters and lines that were cut anywhere', async (t) => {
    const bytes = Buffer.from(added('a', { labels: { greeting: 'grüße 😀' } }) + added('b'));
    const { source } = await serve(t, { answers: [stream(...[...bytes].map((byte) => Uint8Array.of(byte)))] });
    const [first, second] = await collect(source);
    assert.ok(first?.type === 'ADDED' && second?.type === 'ADDED');
    assert.deepEqual(first.meta.labels, { greeting: 'grüße 😀' });
    assert.equal(second.meta.name, 'b');
  });

  for (const [what, chunks] of [
    ['is not JSON', ['{"type":"ADDED","obj\n']],
    ['is not UTF-8', [Uint8Array.of(0x22, 0xff, 0xfe, 0x22, 0x0a)]],
    ['is no event', ['42\n']],
    ['is null', ['null\n']],
    ['has an unknown type', ['{"type":"SURPRISE","object":{}}\n']],
    ['has an object without a uid', ['{"type":"ADDED","object":{"metadata":{"name":"b","resourceVersion":"1"}}}\n']],
    ['is a bookmark without a version', ['{"type":"BOOKMARK","object":{"metadata":{}}}\n']],
  ] as const) {
    it(`P06e: a line that ${what} is an error, after the events before it`, async (t) => {
      const { source } = await serve(t, { answers: [stream(added('a'), ...chunks, added('c'))] });
      const seen: WatchEvent[] = [];
      await assert.rejects(collect(source, { from: 'list' }, seen), hasCode('WATCH_CORRUPT'));
      assert.deepEqual(
        seen.map(({ type }) => type),
        ['ADDED'],
      );
    });
  }

  it('P06e: a line that the end of the stream cuts off is an error', async (t) => {
    const { source } = await serve(t, { answers: [stream(added('a'), added('b').slice(0, 20))] });
    const seen: WatchEvent[] = [];
    await assert.rejects(collect(source, { from: 'list' }, seen), hasCode('WATCH_CORRUPT'));
    assert.equal(seen.length, 1);
  });

  it('R21: a line without an end is given up, not collected', async () => {
    async function* endless() {
      for (;;) yield Buffer.alloc(60, 'x');
    }
    await assert.rejects(async () => {
      for await (const _ of linesOf(endless(), 100)) assert.fail('there is no line');
    }, hasCode('WATCH_CORRUPT'));
  });

  it('P06a: a version that is too old expires, said in the stream or as status', async (t) => {
    const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version: 1 (223)' };
    const { source } = await serve(t, {
      answers: [stream(`${JSON.stringify({ type: 'ERROR', object: status })}\n`), answer(410, status)],
    });
    await assert.rejects(collect(source), WatchExpiredError);
    await assert.rejects(collect(source), WatchExpiredError);
  });

  it('another error in the stream says what the server said', async (t) => {
    const status = { kind: 'Status', code: 504, reason: 'Timeout', message: 'too large resource version' };
    const { source } = await serve(t, { answers: [stream(`${JSON.stringify({ type: 'ERROR', object: status })}\n`)] });
    await assert.rejects(collect(source), (error) => error instanceof ApiError && error.status.code === 504);
  });

  it('a server without streaming lists is an ApiError 422, so that the caller can page', async (t) => {
    const causes = [{ reason: 'FieldValueForbidden', message: 'forbidden', field: 'sendInitialEvents' }];
    const { source } = await serve(t, {
      answers: [answer(422, { kind: 'Status', code: 422, reason: 'Invalid', details: { causes } })],
    });
    await assert.rejects(collect(source), (error) => error instanceof ApiError && error.status.code === 422);
  });

  it('P01: a stream that goes silent is an error', async (t) => {
    const { source } = await serve(t, { answers: [hang(added('a'))], streamIdleMs: 200 });
    const seen: WatchEvent[] = [];
    await assert.rejects(collect(source, { from: 'list' }, seen), hasCode('STREAM_SILENT'));
    assert.equal(seen.length, 1);
  });

  it('P03: also when it was silent from the start', async (t) => {
    const { source } = await serve(t, { answers: [hang()], streamIdleMs: 200 });
    await assert.rejects(collect(source), hasCode('STREAM_SILENT'));
  });

  it('P03: also when not even an answer began', async (t) => {
    const { source } = await serve(t, { answers: [ignore], streamIdleMs: 200 });
    await assert.rejects(collect(source), hasCode('API_UNREACHABLE'));
  });

  it('a connection that breaks is an error', async (t) => {
    const { source } = await serve(t, {
      answers: [(_, response) => void response.writeHead(200).write(added('a'), () => response.destroy())],
    });
    await assert.rejects(collect(source), hasCode('API_UNREACHABLE'));
  });

  it('R20: keeps only metadata of a server that sends whole objects', async (t) => {
    const whole = { kind: 'Secret', metadata: { name: 'a', uid: 'u', resourceVersion: '1' }, data: { password: 'x' } };
    const { source } = await serve(t, { answers: [stream(`${JSON.stringify({ type: 'ADDED', object: whole })}\n`)] });
    assert.deepEqual(await collect(source), [{ type: 'ADDED', meta: { name: 'a', uid: 'u', resourceVersion: '1' } }]);
  });
});

describe('the Kubernetes metadata source, on lists in pages', () => {
  it('reads on until there is no token, also past an empty page', async (t) => {
    const { source, server } = await serve(t, {
      answers: [page('7', ['a'], 'one'), page('7', [], 'two'), page('7', ['b'])],
    });
    const { items, resourceVersion } = await source.list(Gizmo, signal());
    assert.deepEqual(
      items.map(({ name }) => name),
      ['a', 'b'],
    );
    assert.equal(resourceVersion, '7');
    assert.deepEqual(server.requests, [
      'GET /apis/test.driftless.dev/v1/gizmos?limit=500',
      'GET /apis/test.driftless.dev/v1/gizmos?limit=500&continue=one',
      'GET /apis/test.driftless.dev/v1/gizmos?limit=500&continue=two',
    ]);
  });

  it('begins again when the pages expire, and not for ever', async (t) => {
    const expired = answer(410, { kind: 'Status', code: 410, reason: 'Expired', message: 'compacted' });
    const once = await serve(t, { answers: [page('7', ['a'], 'one'), expired, page('9', ['b'])] });
    const { items, resourceVersion } = await once.source.list(Gizmo, signal());
    assert.deepEqual([items.map(({ name }) => name), resourceVersion], [['b'], '9']);

    const always = await serve(t, { answers: [expired] });
    await assert.rejects(always.source.list(Gizmo, signal()), WatchExpiredError);
    assert.equal(always.server.requests.length, 4);
  });
});

async function serve(
  t: TestContext,
  options: FakeApiServerOptions,
): Promise<{ source: KubernetesMetadataSource; server: FakeApiServer }> {
  const server = await fakeApiServer(options);
  t.after(() => server.close());
  return { server, source: new KubernetesMetadataSource({ transport: server.transport, random }) };
}

async function collect(
  source: KubernetesMetadataSource,
  start: WatchStart = { from: 'list' },
  seen: WatchEvent[] = [],
): Promise<WatchEvent[]> {
  for await (const event of source.watch(Gizmo, start, signal())) seen.push(event);
  return seen;
}

function added(name: string, more: object = {}): string {
  return `${JSON.stringify({ type: 'ADDED', object: { metadata: { name, uid: `uid-${name}`, resourceVersion: '5', ...more } } })}\n`;
}

function bookmark(): string {
  const metadata = { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } };
  return `${JSON.stringify({ type: 'BOOKMARK', object: { metadata } })}\n`;
}

function page(resourceVersion: string, names: readonly string[], next?: string) {
  const items = names.map((name) => ({ metadata: { name, uid: name, resourceVersion: '1' } }));
  return answer(200, { metadata: { resourceVersion, continue: next }, items });
}

function hasCode(code: string): (error: unknown) => boolean {
  return (error) => error instanceof TransientError && error.code === code;
}
