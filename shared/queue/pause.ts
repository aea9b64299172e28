import type { Clock } from '../ports/clock.ts';

/** A pause that whoever has news ends early. One waits at a time. */
export class Pause {
  readonly #clock: Clock;
  #wake: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the pause that is on; without one it does nothing. */
  wake(): void {
    this.#wake();
  }

  /** Until `ms` have passed, or somebody wakes. */
  async wait(ms: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    try {
      await this.#clock.sleep(ms, woken.signal);
    } catch (error) {
      if (!woken.signal.aborted) throw error;
    }
  }
}
