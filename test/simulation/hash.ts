/** 52 bits of what is added, in the order in which it is: two 32-bit multiplicative hashes. */
export class Hash {
  #a = 0xdeadbeef;
  #b = 0x41c6ce57;

  /** An integer below 2^53. */
  add(value: number): void {
    this.#mix(value | 0);
    const high = Math.trunc(value / 4294967296);
    if (high !== 0) this.#mix(high);
  }

  /** One of a few words; none is taken for a number that is not below -1000. */
  word(word: string | null | undefined): void {
    this.#mix(CODES.get(word) ?? newCode(word));
  }

  get value(): number {
    let [a, b] = [this.#a, this.#b];
    a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
    return (b >>> 12) * 4294967296 + (a >>> 0);
  }

  #mix(part: number): void {
    let a = Math.imul(this.#a ^ part, 2654435761);
    a ^= a >>> 15;
    let b = Math.imul(this.#b ^ part, 1597334677);
    b ^= b >>> 13;
    this.#a = a;
    this.#b = b;
  }
}

const CODES = new Map<string | null | undefined, number>();

function newCode(word: string | null | undefined): number {
  const code = -1000 - CODES.size;
  CODES.set(word, code);
  return code;
}
