import type { PushResult } from './delivery.ts';

interface Instance {
  readonly url: string;
  inFlight: number;
}

/**
 * The instances of one function, and which of them gets the next request: the one with the fewest in flight, as Cloud
 * Run's load balancer does it; of equals the one that has waited longest.
 *
 * An instance that refuses the connection is not there, so the request goes to the next one. One that takes it and never
 * answers is found out by nobody but the caller's deadline; meanwhile what it holds keeps more from being sent to it.
 */
export class Instances {
  /** In the order in which they were last chosen, the longest ago first. */
  #instances: readonly Instance[];

  constructor(urls: readonly string[]) {
    this.#instances = urls.map((url) => ({ url, inFlight: 0 }));
  }

  get count(): number {
    return this.#instances.length;
  }

  /** Sends one request by `push`, at most once to each instance. */
  async send(push: (url: string) => Promise<PushResult>): Promise<PushResult> {
    const absent = new Set<Instance>();
    for (;;) {
      const instance = this.#choose(absent);
      if (instance === undefined) return { kind: 'failed', code: 'ECONNREFUSED' };
      instance.inFlight += 1;
      try {
        const result = await push(instance.url);
        if (result.kind === 'answered' || result.code !== 'ECONNREFUSED') return result;
      } finally {
        instance.inFlight -= 1;
      }
      absent.add(instance);
    }
  }

  #choose(absent: ReadonlySet<Instance>): Instance | undefined {
    // Sorting is stable, so of equals the first one stays the first.
    const [chosen] = this.#instances.filter((i) => !absent.has(i)).sort((a, b) => a.inFlight - b.inFlight);
    if (chosen !== undefined) this.#instances = [...this.#instances.filter((i) => i !== chosen), chosen];
    return chosen;
  }
}
