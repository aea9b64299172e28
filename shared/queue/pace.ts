/** How much may be made up for at once after a pause. Milliseconds. */
const BURST_MS = 100;

/** Keeps to a rate: in any span at most so many as the rate allows, and those of a tenth of a second. */
export class Pace {
  readonly #everyMs: number;
  /** When the next one would be due if all had come evenly. */
  #at = Number.NEGATIVE_INFINITY;

  constructor(perSecond: number) {
    this.#everyMs = 1_000 / perSecond;
  }

  /** When the next one may go. */
  get nextAt(): number {
    return this.#at;
  }

  /** Counts one that goes now. */
  spend(nowMs: number): void {
    this.#at = Math.max(this.#at, nowMs - BURST_MS) + this.#everyMs;
  }

  /** Lets nothing go for `ms`. */
  rest(ms: number, nowMs: number): void {
    this.#at = Math.max(this.#at, nowMs + ms);
  }
}
