import { formatGroupKind, type Kind } from '../kube/kind.ts';
import type { MetadataSource } from '../ports/metadata-source.ts';
import { Dispatcher, type DispatcherOptions, type DispatcherStats } from './dispatcher.ts';
import { Inventory } from './inventory.ts';
import { censusOf, isSame, isSynced, kindsOf, type Ring, ringsOf, type Watcher, type World } from './mapping.ts';
import { type Liveness, Reflector } from './reflector.ts';

export interface ForwarderOptions extends DispatcherOptions {
  /** The id of the cluster, as it stands in messages. */
  readonly cluster: string;
  /** What to watch, and for whom. Names are unique. */
  readonly controllers: readonly Watcher[];
  readonly source: MetadataSource;
}

export interface ForwarderStats {
  /** By kind, as kubectl names it: `Deployment.apps`. */
  readonly kinds: Readonly<Record<string, KindStats>>;
  readonly doorbells: DispatcherStats;
}

export interface KindStats extends Liveness {
  readonly synced: boolean;
  readonly objects: number;
}

/**
 * Turns what happens in a cluster into doorbells: one reflector for each kind → whom does it concern → merge → send.
 *
 * Guarantees: whatever an object's last state is, a doorbell for it is sent after it was heard of, however often the
 * watch broke or the broker was away in between. Nothing but names, uids and versions leaves through here.
 *
 * Does not guarantee: order, one doorbell for each change, or that an object which was deleted while no forwarder ran
 * is noticed; that takes somebody who remembers (the audit of the work items).
 */
export class Forwarder {
  /** Resolves when each kind has been listed. */
  readonly synced: Promise<void>;
  readonly #options: ForwarderOptions;
  readonly #dispatcher: Dispatcher;
  readonly #kinds: readonly Watched[];
  readonly #world: World;
  /** How much of its first census each watcher has got; see `#settle`. */
  readonly #census = new Map<Watcher, 'owed' | 'partial' | 'complete'>();
  readonly #allSynced = Promise.withResolvers<void>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.synced = this.#allSynced.promise;
    this.#dispatcher = new Dispatcher(options);
    this.#kinds = distinctKinds(options.controllers).map((kind) => this.#watched(kind));
    const inventories = new Map(this.#kinds.map(({ kind, inventory }) => [formatGroupKind(kind), inventory]));
    this.#world = {
      cluster: options.cluster,
      watchers: options.controllers,
      inventoryOf: (kind) => inventories.get(formatGroupKind(kind)) ?? UNWATCHED,
    };
    for (const watcher of options.controllers) this.#census.set(watcher, 'owed');
  }

  /** Forwards until `signal` aborts; resolves when what was pending has been sent, or two seconds later. */
  async run(signal: AbortSignal): Promise<void> {
    const watching = new AbortController();
    const dispatched = this.#dispatcher.run(watching.signal);
    try {
      await Promise.all(this.#kinds.map(({ reflector }) => reflector.run(signal)));
    } finally {
      watching.abort();
      await dispatched;
    }
  }

  /**
   * Rings a census of every object that is known, as after the start: for when what remembers work may have lost it. A
   * watcher whose first census is still owed gets that one.
   */
  ringAll(): void {
    for (const [watcher, census] of this.#census) {
      if (census !== 'owed') this.#ring(censusOf(this.#world, watcher));
    }
  }

  stats(): ForwarderStats {
    const kinds = this.#kinds.map(({ kind, inventory, reflector }): [string, KindStats] => [
      formatGroupKind(kind),
      { ...reflector.liveness(), synced: inventory.synced, objects: inventory.size },
    ]);
    return { kinds: Object.fromEntries(kinds), doorbells: this.#dispatcher.stats() };
  }

  #watched(kind: Kind): Watched {
    const inventory = new Inventory();
    const watched: Watched = {
      kind,
      inventory,
      failed: false,
      reflector: new Reflector({
        ...this.#options,
        kind,
        inventory,
        sink: {
          listed: (changes, first) => {
            if (first) this.#listedFirst(kind);
            else this.#ring(changes.flatMap((change) => ringsOf(this.#world, kind, change)));
          },
          changed: (change) => this.#ring(ringsOf(this.#world, kind, change)),
          failed: () => {
            watched.failed = true;
            this.#settle();
          },
        },
      }),
    };
    return watched;
  }

  #listedFirst(kind: Kind): void {
    for (const watcher of this.#options.controllers) {
      if (kindsOf(watcher).some((watched) => isSame(watched, kind))) this.#census.set(watcher, 'owed');
    }
    this.#settle();
    if (this.#kinds.every(({ inventory }) => inventory.synced)) this.#allSynced.resolve();
  }

  /**
   * Rings the first census of each watcher that has all of its kinds. One kind that cannot be listed (a missing
   * permission) must not keep the others waiting: then the objects are rung with what is known, and once more with
   * everything when that kind is there.
   */
  #settle(): void {
    for (const [watcher, census] of this.#census) {
      const reached = this.#reached(watcher);
      if (reached === 'owed' || reached === census || census === 'complete') continue;
      this.#census.set(watcher, reached);
      this.#ring(censusOf(this.#world, watcher));
    }
  }

  #reached(watcher: Watcher): 'owed' | 'partial' | 'complete' {
    if (isSynced(this.#world, watcher)) return 'complete';
    const missing = this.#kinds.filter(
      ({ kind, inventory }) => !inventory.synced && kindsOf(watcher).some((watched) => isSame(watched, kind)),
    );
    return missing.every(({ failed }) => failed) ? 'partial' : 'owed';
  }

  #ring(rings: Iterable<Ring>): void {
    for (const ring of rings) this.#dispatcher.ring(ring);
  }
}

interface Watched {
  readonly kind: Kind;
  readonly inventory: Inventory;
  readonly reflector: Reflector;
  /** Whether a list or watch of it has ever failed. */
  failed: boolean;
}

/** Never asked for: every kind of a watcher is watched. */
const UNWATCHED = new Inventory();

/** One watch for each kind, however many controllers want it, and whichever version they name. */
function distinctKinds(watchers: readonly Watcher[]): readonly Kind[] {
  const byName = new Map<string, Kind>();
  for (const kind of watchers.flatMap(kindsOf)) {
    const name = formatGroupKind(kind);
    if (!byName.has(name)) byName.set(name, kind);
  }
  return [...byName.values()];
}
