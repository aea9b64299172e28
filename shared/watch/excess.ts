import { Agenda } from './agenda.ts';

/**
 * What is over its tenant's budget: first in, first out for each tenant, and the tenants take turns. So somebody who is
 * a little over waits for its own few, not for another's thousands.
 */
export class Excess<T> {
  /** Whose turn is next comes first. */
  readonly #queues = new Map<string, Queue<T>>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Who has something here. */
  get tenants(): readonly string[] {
    return [...this.#queues.keys()];
  }

  has(tenant: string): boolean {
    return this.#queues.has(tenant);
  }

  add(tenant: string, value: T): void {
    const queue = this.#queues.get(tenant) ?? { values: new Agenda<T>(), length: 0 };
    this.#queues.set(tenant, queue);
    queue.values.add(0, value);
    queue.length += 1;
    this.#size += 1;
  }

  /** The next value of the next tenant that `may` go. */
  take(may: (tenant: string) => boolean): T | undefined {
    for (const [tenant, queue] of this.#queues) {
      if (!may(tenant)) continue;
      this.#queues.delete(tenant);
      queue.length -= 1;
      this.#size -= 1;
      if (queue.length > 0) this.#queues.set(tenant, queue);
      return queue.values.take(0);
    }
    return undefined;
  }
}

interface Queue<T> {
  /** All at time 0: what comes at one instant leaves in the order in which it came. */
  readonly values: Agenda<T>;
  length: number;
}
