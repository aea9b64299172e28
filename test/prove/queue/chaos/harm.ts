import { setTimeout as sleep } from 'node:timers/promises';
import type { Seeded } from '../../../support/seeded.ts';
import { until } from '../../../support/until.ts';
import type { Proving } from '../../shared-stack.ts';
import type { Items } from './items.ts';

/** A lease whose holder was killed. */
export interface Orphaned {
  /** `default/web` */
  readonly item: string;
  readonly token: number;
  /** Epoch milliseconds. */
  readonly killedAt: number;
}

/** Past the lease of 6 s. */
const FROZEN_MS = [7_000, 12_000] as const;
/** What the store was sent just before a kill has arrived by then, and no lease has ended yet. */
const LANDED_MS = 200;

/** Does harm to the instances of the reconcile function: kills them, and stops them for longer than a lease lasts. */
export class Harm {
  readonly #proving: Proving;
  readonly #items: Items;
  readonly #random: Seeded;
  /** Those that were killed, with the number of events at that time: they are back after that many. */
  readonly #killed = new Map<string, number>();
  /** Those that are back, with the number of log lines at that time: they serve when they answer after that many. */
  readonly #back = new Map<string, number>();
  readonly #frozen = new Map<string, Promise<void>>();
  readonly #thawed = new AbortController();
  readonly #orphaned = new Map<string, Orphaned>();
  readonly #watching: Promise<void>[] = [];
  kills = 0;
  stops = 0;

  constructor(proving: Proving, items: Items, random: Seeded) {
    this.#proving = proving;
    this.#items = items;
    this.#random = random;
  }

  /**
   * Every second or so, until `signal` aborts: to one that serves, as long as another one does, so that there is
   * somebody to take over. Resolves when all are up again.
   *
   * @returns the leases that the killed ones left
   */
  async run(signal: AbortSignal): Promise<readonly Orphaned[]> {
    const random = this.#random;
    while (!signal.aborted) {
      const up = this.#proving.stack.reconcilers.filter((name) => this.#serves(name));
      if (up.length > 1) {
        const name = random.oneOf(up);
        if (this.#frozen.size === 0 && random.fraction() < 0.3) this.#freeze(name);
        else this.#kill(name);
      }
      await sleep(random.between(800, 1_800), undefined, { signal }).catch(() => undefined);
    }
    this.#thawed.abort();
    await Promise.all([...this.#frozen.values(), ...this.#watching]);
    await until('all instances are up', async () => this.#proving.stack.reconcilers.every((name) => this.#isUp(name)));
    return [...this.#orphaned.values()];
  }

  /** Whether it has answered since it is back: one that has just begun to listen is still loading what it needs. */
  #serves(name: string): boolean {
    if (!this.#isUp(name)) return false;
    if (!this.#killed.has(name)) return true;
    const { lines } = this.#proving;
    const since = this.#back.get(name) ?? lines.length;
    this.#back.set(name, since);
    return lines.slice(since).some(({ part, line }) => part === name && line.includes('"doorbell answered"'));
  }

  #isUp(name: string): boolean {
    if (this.#frozen.has(name)) return false;
    const killedAt = this.#killed.get(name) ?? 0;
    return this.#proving.events.slice(killedAt).some((event) => event.kind === 'ready' && event.part === name);
  }

  #freeze(name: string): void {
    const { supervisor } = this.#proving.stack;
    this.stops += 1;
    supervisor.kill(name, 'SIGSTOP');
    const thaw = async (): Promise<void> => {
      const ms = this.#random.between(...FROZEN_MS);
      await sleep(ms, undefined, { signal: this.#thawed.signal }).catch(() => undefined);
      supervisor.kill(name, 'SIGCONT');
      this.#frozen.delete(name);
    };
    this.#frozen.set(name, thaw());
  }

  #kill(name: string): void {
    this.kills += 1;
    this.#killed.set(name, this.#proving.events.length);
    this.#back.delete(name);
    this.#proving.stack.supervisor.kill(name, 'SIGKILL');
    this.#watching.push(this.#noteOrphans(name, Date.now()));
  }

  /** Which leases an instance has left: those in its name that no earlier one of the name had left already. */
  async #noteOrphans(name: string, killedAt: number): Promise<void> {
    await sleep(LANDED_MS);
    for (const { key, lease } of await this.#items.all()) {
      if (lease === null || !lease.holderIdentity.startsWith(name) || this.#orphaned.has(lease.holderIdentity))
        continue;
      const item = `${key.namespace}/${key.name}`;
      this.#orphaned.set(lease.holderIdentity, { item, token: lease.token, killedAt });
    }
  }
}
