/** The graph of states that the explorer builds, and what can be said of all its paths: of every schedule. */

export interface Explored {
  readonly states: number;
  readonly steps: number;
  /** Schedules from the start to an end: the paths through the graph of states. */
  readonly schedules: number;
  readonly ends: number;
  /** The longest schedule. */
  readonly depth: number;
  /** The most runs in any schedule. */
  readonly runs: number;
}

/**
 * The states that were reached, by number, and the steps between them. They are expanded in the order in which they
 * were added, so the steps out of `id` are `#steps[#first[id]]` up to `#steps[#first[id + 1]]`.
 */
export class Graph {
  readonly #ids = new Map<number, number>();
  readonly #parents = new Numbers();
  readonly #first = new Numbers();
  /** Where each step leads, doubled, and one more if it starts a run. */
  readonly #steps = new Numbers();

  find(print: number): number | undefined {
    return this.#ids.get(print);
  }

  add(print: number, parent: number): number {
    this.#ids.set(print, this.#parents.length);
    return this.#parents.push(parent);
  }

  /** Goes on to the next state, whose steps follow. */
  expand(): number {
    return this.#first.push(this.#steps.length);
  }

  link(to: number, startsRun: boolean): void {
    this.#steps.push(to * 2 + (startsRun ? 1 : 0));
  }

  /** The states between the start and this one, which is the last of them. */
  wayTo(id: number): readonly number[] {
    const way: number[] = [];
    for (let at = id; at > 0; at = this.#parents.at(at)) way.unshift(at);
    return way;
  }

  /** In topological order; if there is none, some schedule never ends, though something is done at every step. */
  summary(): Explored | { readonly circle: readonly number[] } {
    const states = this.#parents.length;
    const incoming = new Int32Array(states);
    for (let i = 0; i < this.#steps.length; i += 1) count(incoming, this.#steps.at(i) >> 1, 1);
    const schedules = new Float64Array(states);
    const depth = new Int32Array(states);
    const runs = new Int32Array(states);
    schedules[0] = 1;
    const ready = [0];
    let [done, ends, allSchedules, maxDepth, maxRuns] = [0, 0, 0, 0, 0];
    for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
      done += 1;
      const [begin, end] = this.#outOf(id);
      if (begin === end) {
        ends += 1;
        allSchedules += schedules[id] ?? 0;
        maxDepth = Math.max(maxDepth, depth[id] ?? 0);
        maxRuns = Math.max(maxRuns, runs[id] ?? 0);
      }
      for (let i = begin; i < end; i += 1) {
        const step = this.#steps.at(i);
        const to = step >> 1;
        schedules[to] = (schedules[to] ?? 0) + (schedules[id] ?? 0);
        depth[to] = Math.max(depth[to] ?? 0, (depth[id] ?? 0) + 1);
        runs[to] = Math.max(runs[to] ?? 0, (runs[id] ?? 0) + (step & 1));
        if (count(incoming, to, -1) === 0) ready.push(to);
      }
    }
    if (done < states) return { circle: this.#circle(incoming) };
    return { states, steps: this.#steps.length, schedules: allSchedules, ends, depth: maxDepth, runs: maxRuns };
  }

  /** Some states that are reached from each other, in order. Whatever is left has a predecessor that is left. */
  #circle(incoming: Int32Array): readonly number[] {
    const before = new Map<number, number>();
    for (const [id, left] of incoming.entries()) {
      if (left <= 0) continue;
      const [begin, end] = this.#outOf(id);
      for (let i = begin; i < end; i += 1) before.set(this.#steps.at(i) >> 1, id);
    }
    let at = incoming.findIndex((left) => left > 0);
    const visited = new Set<number>();
    while (!visited.has(at)) {
      visited.add(at);
      at = before.get(at) ?? at;
    }
    const circle = [at];
    for (let id = before.get(at) ?? at; id !== at; id = before.get(id) ?? at) circle.splice(1, 0, id);
    return circle;
  }

  #outOf(id: number): readonly [number, number] {
    return [this.#first.at(id), id + 1 < this.#first.length ? this.#first.at(id + 1) : this.#steps.length];
  }
}

function count(counts: Int32Array, id: number, by: number): number {
  const next = (counts[id] ?? 0) + by;
  counts[id] = next;
  return next;
}

/** Whole numbers, millions of them, in four bytes each. */
class Numbers {
  #values = new Int32Array(1024);
  length = 0;

  at(i: number): number {
    return this.#values[i] ?? 0;
  }

  /** @returns its place */
  push(value: number): number {
    if (this.length === this.#values.length) {
      const larger = new Int32Array(this.length * 2);
      larger.set(this.#values);
      this.#values = larger;
    }
    this.#values[this.length] = value;
    this.length += 1;
    return this.length - 1;
  }
}
