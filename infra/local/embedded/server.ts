import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Operation, RequestOf, ResultOf } from '../../../shared/adapters/embedded/protocol.ts';
import { MemoryAlarmSource } from '../../../shared/adapters/memory/alarm-source.ts';
import type { MemoryBroker } from '../../../shared/adapters/memory/broker.ts';
import type { MemoryWorkStore } from '../../../shared/adapters/memory/work-store.ts';
import { messageOf, OperatorError } from '../../../shared/errors.ts';

export interface EmbeddedServerOptions {
  readonly store: MemoryWorkStore;
  readonly broker: MemoryBroker;
  /** 0 takes any free port. */
  readonly port: number;
}

export interface EmbeddedServer {
  /** `http://127.0.0.1:4000` */
  readonly url: string;
  close(): Promise<void>;
}

/** Far above any work item, far below what could hurt. */
const MAX_BODY_BYTES = 1024 * 1024;

/**
 * Serves one store and one broker to the other processes of this machine, for laptops without the emulators.
 *
 * Listens on the loopback interface only: whoever can connect may do everything.
 */
export async function startEmbeddedServer({ store, broker, port }: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const operations = operationsOf(store, broker);
  const server = createServer((request, response) => {
    answer(operations, request, response).catch(() => response.destroy());
  });
  await listen(server, port);
  const { port: bound } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${bound}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

type Operations = {
  readonly [O in Operation]: (request: RequestOf<O>, signal: AbortSignal) => ResultOf<O> | Promise<ResultOf<O>>;
};

function operationsOf(store: MemoryWorkStore, broker: MemoryBroker): Operations {
  return {
    'work-items/read': ({ key }, signal) => store.read(key, signal),
    'work-items/write': ({ item, expected }, signal) => store.write(item, expected, signal),
    'work-items/remove': ({ key, expected }, signal) => store.remove(key, expected, signal),
    'work-items/due': ({ limit }, signal) => store.due(limit, signal),
    'work-items/list': ({ cluster, page }, signal) => store.list(cluster, page, signal),
    'alarms/state': ({ cluster }, signal) => new MemoryAlarmSource({ store, cluster }).state(signal),
    'alarms/view': ({ cluster, window, known, waitMs }, signal) =>
      new MemoryAlarmSource({ store, cluster }).view(window, known, waitMs, signal),
    'messages/publish': ({ queue, message }) => broker.accept(queue, message),
    'messages/pull': async ({ queue, max, waitMs }, signal) => await broker.pull(queue, { max, waitMs }, signal),
    'messages/ack': ({ queue, messageIds }) => {
      broker.ack(queue, messageIds);
      return null;
    },
    'messages/nack': ({ queue, messageIds }) => {
      broker.nack(queue, messageIds);
      return null;
    },
    'messages/extend': ({ queue, messageIds }) => {
      broker.extend(queue, messageIds);
      return null;
    },
  };
}

async function answer(operations: Operations, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = (request.url ?? '/').slice(1);
  if (path === 'readyz') return send(response, 200, { result: 'ok' });
  if (!isOperation(operations, path)) return send(response, 404, { code: 'UNKNOWN', message: `no operation ${path}` });

  const gone = new AbortController();
  response.once('close', () => gone.abort());
  try {
    send(response, 200, { result: await run(operations, path, await bodyOf(request), gone.signal) });
  } catch (error) {
    if (gone.signal.aborted) return;
    const code = error instanceof OperatorError ? error.code : 'FAILED';
    send(response, 503, { code, message: messageOf(error) });
  }
}

function isOperation(operations: Operations, path: string): path is Operation {
  return Object.hasOwn(operations, path);
}

function run<O extends Operation>(operations: Operations, operation: O, body: unknown, signal: AbortSignal) {
  // The protocol's other end is of the same build.
  return operations[operation](body as RequestOf<O>, signal);
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY_BYTES) throw new Error(`the request is larger than ${MAX_BODY_BYTES} bytes`);
    chunks.push(chunk);
  }
  return JSON.parse(Buffer.concat(chunks).toString());
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
}
