import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import type { Logger } from '../shared/ports/logger.ts';

/** The requests of an instance, counted so that it can end without cutting one off. */
export interface Requests {
  /** Serves one request to its last byte. The signal aborts when the instance must be gone soon. */
  serve(response: ServerResponse, handle: (signal: AbortSignal) => Promise<void>): Promise<void>;
}

/** Cloud Run kills an instance 10 s after SIGTERM. */
const GRACE_MS = 8_000;

/**
 * Ends the instance on SIGTERM as soon as its requests are done; after the grace period the rest is aborted, and
 * their leases expire.
 *
 * The framework's own handler answers the latest request with 500 and exits at once, cutting off all others
 * (functions-framework-nodejs #704), so it is taken out.
 *
 * @param stop called at once: what has not started need not start here
 */
export function drainOnTermination(log: Logger, close: () => Promise<void>, stop: () => void): Requests {
  let running = 0;
  let terminating = false;
  const abort = new AbortController();
  const end = (): void => {
    close().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('the instance could not be closed', { error: String(error) });
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.removeAllListeners(signal);
    process.once(signal, () => {
      terminating = true;
      stop();
      log.info('terminating', { signal, running });
      if (running === 0) end();
      else setTimeout(() => abort.abort(new Error('the instance is terminating')), GRACE_MS).unref();
    });
  }
  return {
    async serve(response, handle) {
      running += 1;
      try {
        await handle(abort.signal);
        await finished(response).catch(() => undefined); // The caller hung up: nobody is left to serve.
      } finally {
        running -= 1;
        if (terminating && running === 0) end();
      }
    },
  };
}
