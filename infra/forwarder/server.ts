import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AlarmClockStats } from '../../shared/queue/alarm-clock.ts';
import type { ForwarderStats } from '../../shared/watch/forwarder.ts';

export interface HealthServer {
  readonly port: number;
  close(): Promise<void>;
}

export interface ProcessStats extends ForwarderStats {
  /** Undefined when this process hosts no alarm clock. */
  readonly alarms: AlarmClockStats | undefined;
}

/** The API server sends a bookmark every minute at least; a kind that hears nothing for this long is not watched. */
const SILENT_MS = 180_000;

/**
 * Serves `/healthz` (the process answers), `/readyz` (every kind is listed and heard of) and `/statusz` (figures of
 * each kind and of the alarm clock, as JSON). An alarm clock that fails makes nothing unready: `sweep` is its net.
 *
 * `/healthz` does not depend on the API server or the broker: a restart would not mend them.
 */
export async function startHealthServer(port: number, stats: () => ProcessStats): Promise<HealthServer> {
  const server = createServer((request, response) => {
    switch (request.url) {
      case '/healthz':
        return reply(response, 200, { status: 'ok' });
      case '/readyz': {
        const problems = problemsOf(stats());
        return reply(response, problems.length === 0 ? 200 : 503, { ready: problems.length === 0, problems });
      }
      case '/statusz':
        return reply(response, 200, stats());
      default:
        return reply(response, 404, { error: 'there are /healthz, /readyz and /statusz' });
    }
  });
  server.listen(port);
  await once(server, 'listening'); // Rejects with the error event: a port that is taken.
  return { port: portOf(server), close: () => closed(server) };
}

/** Why the forwarder cannot be relied on now, a sentence for each kind. */
function problemsOf({ kinds }: ProcessStats): readonly string[] {
  return Object.entries(kinds).flatMap(([kind, { synced, idleMs, lastError }]) => {
    const why = lastError === undefined ? '' : `: ${lastError}`;
    if (!synced) return [`${kind} is not listed yet${why}`];
    if (idleMs > SILENT_MS) return [`${kind} has been silent for ${Math.round(idleMs / 1000)} s${why}`];
    return [];
  });
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(`${JSON.stringify(body, null, 2)}\n`);
}

function portOf(server: Server): number {
  // A listening TCP server has an AddressInfo; a string stands for a pipe, null for a closed server.
  return (server.address() as AddressInfo).port;
}

async function closed(server: Server): Promise<void> {
  server.close();
  server.closeAllConnections();
  await once(server, 'close');
}
