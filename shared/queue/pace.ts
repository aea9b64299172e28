/** Keeps to a rate: in any span at most so many as the rate allows, and a burst. */
export class Pace {
  readonly #everyMs: number;
  readonly #burstMs: number;
  /** When the next one would be due if all had come evenly. */
  #at = Number.NEGATIVE_INFINITY;

  /** @param burst so many at once after a pause. @default those of a tenth of a second */
  constructor(perSecond: number, burst: number = perSecond / 10) {
    this.#everyMs = 1_000 / perSecond;
    this.#burstMs = burst * this.#everyMs;
  }

  /** When the next one may go. */
  get nextAt(): number {
    return this.#at;
  }

  /** Counts one that goes now. */
  spend(nowMs: number): void {
    this.#at = Math.max(this.#at, nowMs - this.#burstMs) + this.#everyMs;
  }

  /** Counts one that goes as soon as it may. @returns in how many milliseconds that is */
  reserve(nowMs: number): number {
    const waitMs = Math.max(0, this.#at - nowMs);
    this.spend(nowMs);
    return waitMs;
  }

  /** Lets nothing go for `ms`. */
  rest(ms: number, nowMs: number): void {
    this.#at = Math.max(this.#at, nowMs + ms);
  }
}
