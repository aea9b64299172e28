import assert from 'node:assert/strict';
import { createSecureServer, type Http2SecureServer, type ServerHttp2Stream } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { createAuthority } from '../../../infra/local/control-plane/certificates.ts';
import type { Access } from '../../../shared/adapters/kubernetes/credentials.ts';
import { type ApiRequest, createTransport } from '../../../shared/adapters/kubernetes/transport.ts';
import { TransientError } from '../../../shared/errors.ts';
import { accessTo } from './fake-api-server.ts';

const READ: ApiRequest = { method: 'GET', path: '/read', what: 'read' };
const WATCH: ApiRequest = { method: 'GET', path: '/watch', what: 'watch' };
const signal = () => AbortSignal.timeout(20_000);

describe('connections to an API server with TLS and HTTP/2', () => {
  let server: Http2SecureServer;
  let ca: string;
  let origin: string;
  let connections = 0;

  before(async () => {
    const authority = await createAuthority('test', new Date());
    const { certificate, key } = await authority.issue({ commonName: 'server', hosts: ['localhost'] });
    ca = authority.certificate;
    // Limits as the API server's: 100 streams a connection.
    server = createSecureServer({ cert: certificate, key, settings: { maxConcurrentStreams: 100 } });
    server.on('secureConnection', () => connections++);
    server.on('stream', answer);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  });
  after(() => new Promise((resolve) => server.close(resolve)));

  const open = (access: () => Access, streamIdleMs = 10_000) => {
    connections = 0;
    const credentials = { current: async () => access(), renewed: async () => access() };
    return createTransport({ credentials, guard: (call, s) => call(s), streamIdleMs });
  };

  it('200 calls in a row and 100 at once use at most 4 connections', async () => {
    const transport = open(() => accessTo(origin, 'Bearer x', ca));
    for (let i = 0; i < 200; i++) await transport.call(READ, signal());
    assert.equal(connections, 1);
    await Promise.all(Array.from({ length: 100 }, () => transport.call(READ, signal())));
    assert.ok(connections <= 4, `${connections} connections`);
    await transport.close();
  });

  it('250 watches share 3 connections, and leave the calls theirs', async () => {
    const transport = open(() => accessTo(origin, 'Bearer x', ca));
    const stop = new AbortController();
    const watches = Array.from({ length: 250 }, () => transport.stream(WATCH, stop.signal)[Symbol.asyncIterator]());
    await Promise.all(watches.map((watch) => watch.next()));
    assert.equal(connections, 3);
    await transport.call(READ, signal());
    assert.equal(connections, 4);

    stop.abort(new Error('enough'));
    await Promise.all(watches.map((watch) => assert.rejects(watch.next(), { message: 'enough' })));
    await transport.close();
  });

  it('a new token needs no new connection, new TLS material does', async () => {
    let access = accessTo(origin, 'Bearer first', ca);
    const transport = open(() => access);
    await transport.call(READ, signal());
    access = accessTo(origin, 'Bearer second', ca);
    await transport.call(READ, signal());
    assert.equal(connections, 1);
    access = accessTo(origin, 'Bearer second', `${ca}\n${ca}`);
    await transport.call(READ, signal());
    assert.equal(connections, 2);
    await transport.close();
  });

  it('P01: a silent stream is noticed, and costs the calls nothing', async () => {
    const transport = open(() => accessTo(origin, 'Bearer x', ca), 200);
    await assert.rejects(
      async () => {
        for await (const _ of transport.stream(WATCH, signal())) await transport.call(READ, signal());
      },
      (error) => error instanceof TransientError && error.code === 'STREAM_SILENT',
    );
    await transport.call(READ, signal());
    await transport.close();
  });

  it('a server that nobody vouches for is not talked to', async () => {
    const transport = open(() => accessTo(origin, 'Bearer x'));
    await assert.rejects(
      transport.call(READ, signal()),
      (error) => error instanceof TransientError && error.code === 'API_UNREACHABLE',
    );
    await transport.close();
  });
});

/** A watch says one line and then nothing. */
function answer(stream: ServerHttp2Stream, headers: { ':path'?: string }): void {
  stream.on('error', ignore);
  stream.respond({ ':status': 200 });
  if (headers[':path'] === '/watch') stream.write('{}\n');
  else stream.end('{}');
}

/** The client resets streams that it gives up. */
function ignore(): void {}
