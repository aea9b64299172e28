/** A priority queue by time: a binary heap. Entries of one instant come out in the order they went in. */
export class Agenda<T> {
  readonly #heap: Planned<T>[] = [];
  #sequence = 0;

  /** When the first entry is due; undefined when there is none. */
  get nextAt(): number | undefined {
    return this.#heap[0]?.at;
  }

  add(at: number, value: T): void {
    this.#sequence += 1;
    const entry = { at, sequence: this.#sequence, value };
    let hole = this.#heap.length;
    while (hole > 0) {
      const parent = (hole - 1) >> 1;
      const above = this.#heap[parent];
      if (above === undefined || isBefore(above, entry)) break;
      this.#heap[hole] = above;
      hole = parent;
    }
    this.#heap[hole] = entry;
  }

  /** Removes and returns the first entry that is due by `now`. */
  take(now: number): T | undefined {
    const first = this.#heap[0];
    if (first === undefined || first.at > now) return undefined;
    const last = this.#heap.pop();
    if (last !== undefined && last !== first) this.#sink(last);
    return first.value;
  }

  /** Fills the hole at the top. */
  #sink(entry: Planned<T>): void {
    let hole = 0;
    for (;;) {
      const left = this.#heap[2 * hole + 1];
      const right = this.#heap[2 * hole + 2];
      const right1st = left !== undefined && right !== undefined && isBefore(right, left);
      const child = right1st ? right : left;
      if (child === undefined || isBefore(entry, child)) break;
      this.#heap[hole] = child;
      hole = 2 * hole + (right1st ? 2 : 1);
    }
    this.#heap[hole] = entry;
  }
}

interface Planned<T> {
  readonly at: number;
  readonly sequence: number;
  readonly value: T;
}

function isBefore(a: Planned<unknown>, b: Planned<unknown>): boolean {
  return a.at === b.at ? a.sequence < b.sequence : a.at < b.at;
}
