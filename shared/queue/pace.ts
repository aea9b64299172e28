/** Keeps to a rate: in any span at most so many as the rate allows, and those of the burst. */
export class Pace {
  readonly #everyMs: number;
  readonly #burstMs: number;
  /** When the next one would be due if all had come evenly. */
  #at = Number.NEGATIVE_INFINITY;

  /** @param burstMs how much may be made up for at once after a pause, milliseconds */
  constructor(perSecond: number, burstMs = 100) {
    this.#everyMs = 1_000 / perSecond;
    this.#burstMs = burstMs;
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

  /** Whether it has made up for everything: from now on it does what a new one does. */
  isRested(nowMs: number): boolean {
    return this.#at <= nowMs - this.#burstMs;
  }
}
