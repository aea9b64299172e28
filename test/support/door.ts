import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/**
 * The way to a server, which can be barred while the server lives on: what is called an outage by whoever is on the other
 * side of it. Relays TCP connections; while it is frozen they hang, and while it is shut there is nobody.
 */
export class Door {
  /** `127.0.0.1:4000` */
  readonly host: string;
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  #frozen = false;

  private constructor(server: Server, target: number) {
    this.#server = server;
    this.#target = target;
    this.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (socket) => this.#relay(socket));
  }

  /** @param target the server's port on this machine */
  static async open(target: number): Promise<Door> {
    const server = createServer({ pauseOnConnect: true });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new Door(server, target);
  }

  /** Cuts all connections, and refuses others. */
  async shut(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  async reopen(): Promise<void> {
    this.#server.listen(Number(this.host.split(':')[1]), '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Holds back what is sent from now on, in both directions; takes connections, and says nothing. */
  freeze(): void {
    this.#frozen = true;
    for (const socket of this.#sockets) socket.pause();
  }

  thaw(): void {
    this.#frozen = false;
    for (const socket of this.#sockets) socket.resume();
  }

  #relay(socket: Socket): void {
    const server = connect(this.#target, '127.0.0.1');
    for (const [from, to] of [
      [socket, server],
      [server, socket],
    ] as const) {
      this.#sockets.add(from);
      from.on('data', (chunk) => to.write(chunk));
      from.on('end', () => to.end());
      from.on('error', () => to.destroy());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      if (this.#frozen) from.pause();
      else from.resume();
    }
  }
}
