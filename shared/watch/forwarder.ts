import { formatGroupKind, type Kind } from '../kube/kind.ts';
import type { MetadataSource } from '../ports/metadata-source.ts';
import { type Checkpoint, kindsToList, type Origin } from './checkpoint.ts';
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
  /** Where the one before got to. @default nowhere: every kind is listed */
  readonly checkpoint?: Checkpoint;
}

export interface ForwarderStats {
  /** By kind, as kubectl names it: `Deployment.apps`. */
  readonly kinds: Readonly<Record<string, KindStats>>;
  readonly doorbells: DispatcherStats;
}

export interface KindStats extends Liveness {
  /** Whether it has been listed, or is watched on from where the one before got to. */
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
  /** Resolves when each kind has been listed, or is watched on from where the one before got to. */
  readonly synced: Promise<void>;
  readonly #options: ForwarderOptions;
  readonly #dispatcher: Dispatcher;
  readonly #kinds: readonly Watched[];
  readonly #world: World;
  /** How much of its first census each watcher has got; see `#settle`. One that was resumed needs none. */
  readonly #census = new Map<Watcher, 'resumed' | 'owed' | 'partial' | 'complete'>();
  readonly #allSynced = Promise.withResolvers<void>();

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.synced = this.#allSynced.promise;
    this.#dispatcher = new Dispatcher(options);
    const { checkpoint = {}, controllers } = options;
    const listed = kindsToList(controllers, checkpoint);
    this.#kinds = distinctKinds(controllers).map((kind) => {
      const name = formatGroupKind(kind);
      return this.#watched(kind, listed.has(name) ? undefined : checkpoint[name]);
    });
    const inventories = new Map(this.#kinds.map(({ kind, inventory }) => [formatGroupKind(kind), inventory]));
    this.#world = {
      cluster: options.cluster,
      watchers: options.controllers,
      inventoryOf: (kind) => inventories.get(formatGroupKind(kind)) ?? UNWATCHED,
    };
    for (const watcher of controllers) {
      const isResumed = !listed.has(formatGroupKind(watcher.kind));
      this.#census.set(watcher, isResumed ? 'resumed' : 'owed');
    }
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
   * Rings a census of every object, as after the start: for when what remembers work may have lost it. A watcher whose
   * first census is still owed gets that one; the kinds of one that was resumed are listed for it.
   */
  ringAll(): void {
    for (const [watcher, census] of this.#census) {
      if (census === 'resumed') this.#listAll(watcher);
      else if (census !== 'owed') this.#ringCensus(watcher);
    }
  }

  /** Up to where the broker has taken everything. Whoever is started with it goes on from there, and misses nothing. */
  checkpoint(): Checkpoint {
    const heard = this.#kinds.flatMap(({ name, reflector: { resourceVersion } }): [string, string][] =>
      resourceVersion === undefined ? [] : [[name, resourceVersion]],
    );
    return this.#dispatcher.checkpoint(new Map(heard));
  }

  stats(): ForwarderStats {
    const kinds = this.#kinds.map(({ name, inventory, reflector, synced }): [string, KindStats] => [
      name,
      { ...reflector.liveness(), synced, objects: inventory.size },
    ]);
    return { kinds: Object.fromEntries(kinds), doorbells: this.#dispatcher.stats() };
  }

  #watched(kind: Kind, resumeFrom: string | undefined): Watched {
    const inventory = new Inventory();
    const name = formatGroupKind(kind);
    const watched: Watched = {
      kind,
      name,
      inventory,
      synced: false,
      failed: false,
      reflector: new Reflector({
        ...this.#options,
        kind,
        inventory,
        resumeFrom,
        sink: {
          listed: (changes, first) => {
            // What a first list shows is told by the census; what it does not show any more is not in there.
            const told = first ? changes.filter((change) => change.kind === 'deleted') : changes;
            const rings = told.flatMap((change) => ringsOf(this.#world, kind, change));
            this.#ring(rings, [{ kind: name, after: 'list' }]);
            if (first) this.#listedFirst(kind);
            this.#synced(watched);
          },
          changed: (change, after) => this.#ring(ringsOf(this.#world, kind, change), [{ kind: name, after }]),
          resumed: () => this.#synced(watched),
          failed: () => {
            watched.failed = true;
            this.#settle();
          },
        },
      }),
    };
    return watched;
  }

  #synced(watched: Watched): void {
    watched.synced = true;
    if (this.#kinds.every(({ synced }) => synced)) this.#allSynced.resolve();
  }

  #listedFirst(kind: Kind): void {
    for (const watcher of this.#options.controllers) {
      if (!kindsOf(watcher).some((watched) => isSame(watched, kind))) continue;
      if (this.#census.get(watcher) === 'resumed') this.#listAll(watcher);
      this.#census.set(watcher, 'owed');
    }
    this.#settle();
  }

  /** For a watcher that was resumed: what happens to a child concerns an object that nobody has heard of, maybe. */
  #listAll(watcher: Watcher): void {
    this.#census.set(watcher, 'owed');
    for (const { kind, inventory, reflector } of this.#kinds) {
      if (!inventory.synced && kindsOf(watcher).some((watched) => isSame(watched, kind))) reflector.list();
    }
  }

  /**
   * Rings the first census of each watcher that has all of its kinds. One kind that cannot be listed (a missing
   * permission) must not keep the others waiting: then the objects are rung with what is known, and once more with
   * everything when that kind is there.
   */
  #settle(): void {
    for (const [watcher, census] of this.#census) {
      if (census === 'resumed' || census === 'complete') continue;
      const reached = this.#reached(watcher);
      if (reached === 'owed' || reached === census) continue;
      this.#census.set(watcher, reached);
      this.#ringCensus(watcher);
    }
  }

  /** Only a list of every kind of it would lead to the same census. */
  #ringCensus(watcher: Watcher): void {
    const origins = kindsOf(watcher).map((kind): Origin => ({ kind: formatGroupKind(kind), after: 'list' }));
    this.#ring(censusOf(this.#world, watcher), origins);
  }

  #reached(watcher: Watcher): 'owed' | 'partial' | 'complete' {
    if (isSynced(this.#world, watcher)) return 'complete';
    const missing = this.#kinds.filter(
      ({ kind, inventory }) => !inventory.synced && kindsOf(watcher).some((watched) => isSame(watched, kind)),
    );
    return missing.every(({ failed }) => failed) ? 'partial' : 'owed';
  }

  #ring(rings: Iterable<Ring>, origins: readonly Origin[]): void {
    for (const ring of rings) this.#dispatcher.ring(ring, origins);
  }
}

interface Watched {
  readonly kind: Kind;
  /** As kubectl names the kind. */
  readonly name: string;
  readonly inventory: Inventory;
  readonly reflector: Reflector;
  /** Whether it has been listed or resumed. */
  synced: boolean;
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
