import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A way to a server that can be held up: what is sent meanwhile waits, as on a network that has gone quiet. */
export class SlowProxy {
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#join(client));
  readonly #target: URL;
  #isHeld = false;

  private constructor(target: URL) {
    this.#target = target;
  }

  static async to(url: string): Promise<SlowProxy> {
    const proxy = new SlowProxy(new URL(url));
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  /** The server's address, by this way. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return Object.assign(new URL(this.#target), { port: String(port) }).origin;
  }

  hold(): void {
    this.#isHeld = true;
    for (const socket of this.#sockets) socket.pause();
  }

  letGo(): void {
    this.#isHeld = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(client: Socket): void {
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const [from, to] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (data) => to.write(data));
      from.once('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.on('error', () => undefined); // A close follows.
      if (this.#isHeld) from.pause();
    }
  }
}
