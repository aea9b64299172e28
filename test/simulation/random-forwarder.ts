/** The forwarder's own rules on the model cluster's watches: what happens becomes doorbells. */
import type { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { formatGroupKind, type GroupKind, type Kind } from '../../shared/kube/kind.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import { Inventory } from '../../shared/watch/inventory.ts';
import { censusOf, kindsOf, ringsOf, type Watcher, type World } from '../../shared/watch/mapping.ts';

export class WatchedCluster {
  readonly #world: World;
  readonly #watcher: Watcher;

  constructor(cluster: MemoryCluster, watcher: Watcher, ring: (doorbell: Doorbell) => void, signal: AbortSignal) {
    const inventories = new Map(kindsOf(watcher).map((kind) => [formatGroupKind(kind), new Inventory()]));
    const inventoryOf = (kind: GroupKind): Inventory => inventories.get(formatGroupKind(kind)) ?? new Inventory();
    this.#watcher = watcher;
    this.#world = { cluster: 'local', watchers: [watcher], inventoryOf };
    for (const kind of kindsOf(watcher)) {
      inventoryOf(kind).replace([]);
      void this.#follow(cluster, kind, ring, signal).catch(() => undefined); // The world has ended.
    }
  }

  /** What a forwarder tells when it starts. */
  census(): readonly Doorbell[] {
    return [...censusOf(this.#world, this.#watcher)].map(({ doorbell }) => doorbell);
  }

  async #follow(
    cluster: MemoryCluster,
    kind: Kind,
    ring: (doorbell: Doorbell) => void,
    signal: AbortSignal,
  ): Promise<void> {
    for await (const event of cluster.watch(kind, { from: 'list' }, signal)) {
      if (event.type === 'BOOKMARK') continue;
      const change = this.#world.inventoryOf(kind).apply(event);
      if (change !== undefined) for (const { doorbell } of ringsOf(this.#world, kind, change)) ring(doorbell);
    }
  }
}
