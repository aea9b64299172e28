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

export interface Found {
  readonly violation: string;
  /** What happened, step by step. */
  readonly trace: readonly string[];
}

/** The states that were reached, by number, and the steps between them. */
export class Graph {
  readonly #ids = new Map<number, number>();
  readonly #parents: number[] = [];
  readonly #names: string[] = [];
  readonly #from: number[] = [];
  readonly #to: number[] = [];
  readonly #starts: boolean[] = [];

  find(print: string): number | undefined {
    return this.#ids.get(hash(print));
  }

  add(print: string, parent: number, name: string): number {
    const id = this.#parents.length;
    this.#ids.set(hash(print), id);
    this.#parents.push(parent);
    this.#names.push(name);
    return id;
  }

  link(from: number, to: number, startsRun: boolean): void {
    this.#from.push(from);
    this.#to.push(to);
    this.#starts.push(startsRun);
  }

  trace(id: number): readonly string[] {
    const names: string[] = [];
    for (let at = id; at > 0; at = this.#parents[at] ?? 0) names.unshift(this.#names[at] ?? '');
    return names;
  }

  /** In topological order; if there is none, some schedule never ends, though something is done at every step. */
  summary(): Explored | Found {
    const states = this.#parents.length;
    const { first, edges, incoming } = this.#outgoing(states);
    const schedules = new Float64Array(states);
    const depth = new Int32Array(states);
    const runs = new Int32Array(states);
    schedules[0] = 1;
    const ready = [0];
    let [done, ends, allSchedules, maxDepth, maxRuns] = [0, 0, 0, 0, 0];
    for (let id = ready.pop(); id !== undefined; id = ready.pop()) {
      done += 1;
      const [begin, end] = [first[id] ?? 0, first[id + 1] ?? 0];
      if (begin === end) {
        ends += 1;
        allSchedules += schedules[id] ?? 0;
        maxDepth = Math.max(maxDepth, depth[id] ?? 0);
        maxRuns = Math.max(maxRuns, runs[id] ?? 0);
      }
      for (let i = begin; i < end; i += 1) {
        const edge = edges[i] ?? 0;
        const to = this.#to[edge] ?? 0;
        schedules[to] = (schedules[to] ?? 0) + (schedules[id] ?? 0);
        depth[to] = Math.max(depth[to] ?? 0, (depth[id] ?? 0) + 1);
        runs[to] = Math.max(runs[to] ?? 0, (runs[id] ?? 0) + (this.#starts[edge] === true ? 1 : 0));
        incoming[to] = (incoming[to] ?? 0) - 1;
        if (incoming[to] === 0) ready.push(to);
      }
    }
    if (done < states) {
      return { violation: 'bounded runs: a schedule goes in circles', trace: this.#circle(incoming) };
    }
    return { states, steps: this.#to.length, schedules: allSchedules, ends, depth: maxDepth, runs: maxRuns };
  }

  /** The way to a state that is reached from itself, and the states on the way round. */
  #circle(incoming: Int32Array): readonly string[] {
    // Whatever is left has a predecessor that is left: going back, some state comes twice.
    const back = new Map<number, number>();
    for (const [edge, to] of this.#to.entries()) {
      const from = this.#from[edge] ?? 0;
      if ((incoming[to] ?? 0) > 0 && (incoming[from] ?? 0) > 0) back.set(to, from);
    }
    let at = incoming.findIndex((left, id) => left > 0 && back.has(id));
    const visited = new Set<number>();
    while (!visited.has(at)) {
      visited.add(at);
      at = back.get(at) ?? at;
    }
    const around = [at];
    for (let id = back.get(at) ?? at; id !== at; id = back.get(id) ?? at) around.unshift(id);
    return [...this.trace(at), '… and round:', ...around.map((id) => this.#names[id] ?? '')];
  }

  /** The steps out of each state: those of `id` are `edges[first[id]]` up to `edges[first[id + 1]]`. */
  #outgoing(states: number) {
    const first = new Int32Array(states + 1);
    const incoming = new Int32Array(states);
    for (const from of this.#from) first[from + 1] = (first[from + 1] ?? 0) + 1;
    for (const to of this.#to) incoming[to] = (incoming[to] ?? 0) + 1;
    for (let id = 0; id < states; id += 1) first[id + 1] = (first[id + 1] ?? 0) + (first[id] ?? 0);
    const edges = new Int32Array(this.#from.length);
    const at = first.slice();
    for (const [edge, from] of this.#from.entries()) {
      const place = at[from] ?? 0;
      edges[place] = edge;
      at[from] = place + 1;
    }
    return { first, edges, incoming };
  }
}

/** 52 bits of two 32-bit multiplicative hashes. */
function hash(text: string): number {
  let [a, b] = [0xdeadbeef, 0x41c6ce57];
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 2654435761);
    b = Math.imul(b ^ code, 1597334677);
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
  return (b >>> 12) * 4294967296 + (a >>> 0);
}
