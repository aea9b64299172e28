import type { Clock } from '../../../shared/ports/clock.ts';
import type { Logger } from '../../../shared/ports/logger.ts';
import { pause } from './pause.ts';
import type { Pusher } from './push.ts';

export interface SchedulerOptions {
  readonly url: string;
  readonly everyMs: number;
  readonly pusher: Pusher;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Cloud Scheduler's default attempt deadline. Milliseconds. */
const DEADLINE_MS = 180_000;

/** Calls the sweep function until `signal` aborts, never while it still runs. Cloud Scheduler does so once a minute. */
export async function runScheduler(options: SchedulerOptions, signal: AbortSignal): Promise<void> {
  const { url, everyMs, pusher, clock, logger } = options;
  while (!signal.aborted) {
    const started = clock.monotonic();
    const headers = { 'user-agent': 'Google-Cloud-Scheduler', 'x-cloudscheduler': 'true' };
    const result = await pusher.post(url, headers, AbortSignal.any([signal, AbortSignal.timeout(DEADLINE_MS)]));
    const status = result.kind === 'answered' ? result.status : result.code;
    const durationMs = clock.monotonic() - started;
    if (result.kind === 'answered' && result.status < 300) logger.debug('sweep called', { status, durationMs });
    else if (!signal.aborted) logger.warn('sweep failed', { status, durationMs });
    await pause(clock, everyMs - durationMs, signal);
  }
}
