import { createServer, type Server } from 'node:net';
import { OperatorError } from '../../shared/errors.ts';

const LOOPBACK = '127.0.0.1';

/** A port that the user chose is in use by somebody else. */
class PortTakenError extends OperatorError {
  readonly port: number;
  /** What chose the port, as the user wrote it: `--port`, `DRIFTLESS_API_PORT`. */
  readonly setting: string;

  constructor(port: number, setting: string, options: { readonly cause?: unknown } = {}) {
    super(
      'PORT_TAKEN',
      `port ${port} (chosen by ${setting}) is taken: end the process that listens there, or choose another with ${setting}`,
      { kind: 'never' },
      options,
    );
    this.port = port;
    this.setting = setting;
  }
}

/**
 * `count` different loopback ports that nobody listens on.
 *
 * All are held at once before any is let go, so they differ. Does not guarantee that another process does not take
 * one before it is used.
 */
export async function freePorts(count: number): Promise<readonly number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(0)));
  const ports = servers.map((server) => {
    const address = server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  });
  await Promise.all(servers.map(close));
  return ports;
}

/** @throws {PortTakenError} */
export async function assertPortFree(port: number, setting: string): Promise<void> {
  try {
    await close(await listen(port));
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw thrown;
    throw new PortTakenError(port, setting, { cause: thrown });
  }
}

function listen(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host: LOOPBACK, exclusive: true }, () => resolve(server));
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => server.close(() => resolve()));
}
