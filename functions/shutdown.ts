import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream/promises';
import type { Logger } from '../shared/ports/logger.ts';

/** The requests of an instance, counted so that it can end without losing one. */
export interface Requests {
  /** Serves one request to its last byte, or refuses it with 503. The signal aborts when the instance is to end. */
  serve(response: ServerResponse, handle: (signal: AbortSignal) => Promise<void>): Promise<void>;
}

/**
 * Runs that last longer hand their object over, so that somebody else has it within a second. Milliseconds. Most take a
 * fraction of this.
 */
const FINISH_MS = 300;

/** Cloud Run kills an instance 10 s after SIGTERM: whatever still hangs then ends with a log line of ours. */
const GRACE_MS = 8_000;

/**
 * Ends the instance on SIGTERM as soon as its requests are done, and takes no more of them. After a moment those that
 * still run are aborted, and hand over what they work on.
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
      else {
        setTimeout(() => abort.abort(new Error('the instance is terminating')), FINISH_MS).unref();
        setTimeout(() => {
          log.error('requests cut off; their leases run out', { running });
          process.exit(1);
        }, GRACE_MS).unref();
      }
    });
  }
  return {
    async serve(response, handle) {
      if (terminating) {
        response.writeHead(503).end();
        return;
      }
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
