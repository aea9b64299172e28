/** Chance that can be had again: the same seed gives the same choices. (mulberry32) */
export class Seeded {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** Uniform in [0, 1). */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  between(least: number, most: number): number {
    return least + this.fraction() * (most - least);
  }

  /** A whole number from `least` to `most`. */
  whole(least: number, most: number): number {
    return Math.floor(this.between(least, most + 1));
  }

  /** @throws {RangeError} when there is nothing to choose from */
  oneOf<T>(choices: readonly T[]): T {
    const chosen = choices[this.whole(0, choices.length - 1)];
    if (chosen === undefined) throw new RangeError('nothing to choose from');
    return chosen;
  }
}
