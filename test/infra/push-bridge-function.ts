import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { until } from './push-bridge-until.ts';

export interface ReceivedRequest {
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A function that does nothing but answer; real HTTP on a real port, which stays the same when it reopens. */
export interface FunctionStub {
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
  readonly underWay: number;
  readonly mostUnderWay: number;
  /** The status for the request of this index. */
  answer: (request: ReceivedRequest, index: number) => number;
  /** Resolves with all requests once there are that many. */
  received(count: number): Promise<readonly ReceivedRequest[]>;
  /** Answers no request until it is released. */
  hold(): void;
  releaseOne(): void;
  unhold(): void;
  close(): Promise<void>;
  reopen(): Promise<void>;
}

export async function startFunctionStub(): Promise<FunctionStub> {
  const requests: ReceivedRequest[] = [];
  const held: (() => void)[] = [];
  let holding = false;
  let underWay = 0;
  let mostUnderWay = 0;

  async function handle(request: ReceivedRequest, response: ServerResponse): Promise<void> {
    const index = requests.push(request) - 1;
    underWay += 1;
    mostUnderWay = Math.max(mostUnderWay, underWay);
    if (holding) await new Promise<void>((resolve) => held.push(resolve));
    underWay -= 1;
    response.writeHead(stub.answer(request, index)).end();
  }

  const server = createServer(async ({ method = '', headers }, response) => {
    await handle({ method, headers, body: await text(response.req) }, response);
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;

  const stub: FunctionStub = {
    url: `http://127.0.0.1:${port}/reconcile`,
    requests,
    get underWay() {
      return underWay;
    },
    get mostUnderWay() {
      return mostUnderWay;
    },
    answer: () => 204,
    async received(count) {
      await until(() => requests.length >= count);
      return requests;
    },
    hold() {
      holding = true;
    },
    releaseOne() {
      held.shift()?.();
    },
    unhold() {
      holding = false;
      for (const release of held.splice(0)) release();
    },
    async close() {
      if (!server.listening) return;
      stub.unhold();
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
    reopen: () => listen(port),
  };
  return stub;
}
