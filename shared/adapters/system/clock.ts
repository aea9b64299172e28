import type { Clock } from '../../ports/clock.ts';

/** The longest delay that a Node timer takes; a longer one would fire at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The clock of this machine. */
export class SystemClock implements Clock {
  now(): number {
    return Date.now();
  }

  monotonic(): number {
    return performance.now();
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    const end = this.monotonic() + ms;
    for (let left = ms; left > 0; left = end - this.monotonic()) {
      await timer(Math.min(left, LONGEST_TIMER_MS), signal);
    }
    signal?.throwIfAborted();
  }
}

function timer(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timeout);
      reject(signal?.reason);
    };
    const timeout = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    signal?.addEventListener('abort', stop, { once: true });
  });
}
