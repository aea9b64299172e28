import type { Clock } from '../../shared/ports/clock.ts';

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A clock that stands still until the test moves it. */
export class FakeClock implements Clock {
  #startMs: number;
  #elapsedMs = 0;
  #sleepers: Sleeper[] = [];

  /** @param start RFC 3339 time at monotonic 0 */
  constructor(start = '2026-01-01T00:00:00Z') {
    this.#startMs = Date.parse(start);
  }

  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  /** How many sleeps have not ended. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      if (ms <= 0) return resolve();
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper: Sleeper = { until: this.#elapsedMs + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Sets the wall clock, as an administrator or NTP does. No time passes. */
  jump(ms: number): void {
    this.#startMs += ms;
  }

  /** Moves time, and wakes whoever has slept long enough, earliest first. */
  advance(ms: number): void {
    this.#elapsedMs += ms;
    const due = this.#sleepers.filter(({ until }) => until <= this.#elapsedMs).sort((a, b) => a.until - b.until);
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#elapsedMs);
    for (const { wake } of due) wake();
  }
}
