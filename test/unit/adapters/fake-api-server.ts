import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Access, Credentials } from '../../../shared/adapters/kubernetes/credentials.ts';
import { createTransport, type Transport } from '../../../shared/adapters/kubernetes/transport.ts';
import type { Guard } from '../../../shared/ports/guard.ts';

export interface FakeApiServer {
  readonly transport: Transport;
  /** `GET /api/v1/…?…`, in the order of arrival. */
  readonly requests: readonly string[];
  close(): Promise<void>;
}

export type Answer = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>;

export interface FakeApiServerOptions {
  /** One per request, in order; the last one answers all that follow. */
  readonly answers: readonly Answer[];
  readonly streamIdleMs?: number;
  /** What `renewed` gives after `Bearer first`. @default the same */
  readonly renewed?: string;
  /** @default none is in the way */
  readonly guard?: Guard;
}

/** Answers over plain HTTP with what a real API server sends too rarely to wait for. */
export async function fakeApiServer({
  answers,
  renewed,
  guard = (call, signal) => call(signal),
  ...options
}: FakeApiServerOptions): Promise<FakeApiServer> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    requests.push(`${request.method} ${request.url}`);
    await answer?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const first = accessTo(`http://127.0.0.1:${port}`, 'Bearer first');
  const second = { ...first, headers: { Authorization: renewed ?? 'Bearer first' } };
  const credentials: Credentials = { current: async () => first, renewed: async () => second };
  const transport = createTransport({ credentials, guard, ...options });
  return {
    transport,
    requests,
    async close() {
      server.closeAllConnections();
      await transport.close();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export function accessTo(origin: string, authorization: string, ca?: string): Access {
  return {
    origin,
    basePath: '',
    headers: { Authorization: authorization },
    tls: { ca, cert: undefined, key: undefined, servername: undefined, rejectUnauthorized: true },
  };
}

/** Ends the answer with this status and body. */
export function answer(code: number, body: string | object, headers: Readonly<Record<string, string>> = {}): Answer {
  return (_, response) => {
    response.writeHead(code, headers).end(typeof body === 'string' ? body : JSON.stringify(body));
  };
}

/** Streams these chunks, each one flushed on its own, and ends. */
export function stream(...chunks: readonly (string | Uint8Array)[]): Answer {
  return async (_, response) => {
    response.writeHead(200);
    for (const chunk of chunks) {
      response.write(chunk);
      await new Promise(setImmediate);
    }
    response.end();
  };
}

/** Sends these chunks and then nothing more, neither data nor an end. */
export function hang(...chunks: readonly string[]): Answer {
  return (_, response) => {
    response.writeHead(200).flushHeaders();
    for (const chunk of chunks) response.write(chunk);
  };
}

/** Takes the request and never answers. */
export function ignore(): void {}
