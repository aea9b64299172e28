import { createHash } from 'node:crypto';
import { groupOf } from '../kube/kind.ts';
import { controllerOf, type ObjectMeta, type StoredMeta } from '../kube/object.ts';
import { isNotNewer } from '../kube/version.ts';

/**
 * What is kept of one object. Nothing here grows with the object: annotations are digested on arrival and never kept,
 * because `last-applied-configuration` carries the values of Secrets.
 */
export interface Entry {
  readonly uid: string;
  /** `''` for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
  readonly resourceVersion: string;
  /** Undefined for the kinds that have none: ConfigMap, Secret, Service … */
  readonly generation: number | undefined;
  /** Of everything in the metadata that may matter to a run: see `digestOf`. */
  readonly digest: string;
  readonly controller: Owner | undefined;
}

/** The owner with `controller: true`. It is in the object's namespace, or cluster-scoped. */
export interface Owner {
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** How the inventory moved. */
export type Change =
  | { readonly kind: 'added'; readonly after: Entry }
  | { readonly kind: 'modified'; readonly before: Entry; readonly after: Entry }
  /** `resourceVersion` is that of the deletion; undefined when a list showed that the object is no longer there. */
  | { readonly kind: 'deleted'; readonly before: Entry; readonly resourceVersion: string | undefined };

export type ObjectEvent = { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly meta: StoredMeta };

export function entryOf(meta: StoredMeta): Entry {
  const owner = controllerOf(meta);
  return {
    uid: meta.uid,
    namespace: meta.namespace ?? '',
    name: meta.name,
    resourceVersion: meta.resourceVersion,
    generation: meta.generation,
    digest: digestOf(meta),
    controller:
      owner === undefined
        ? undefined
        : { group: groupOf(owner.apiVersion), kind: owner.kind, name: owner.name, uid: owner.uid },
  };
}

/** The objects of one kind, as last heard, with an index from controller to children. */
export class Inventory {
  readonly #entries = new Map<string, Entry>();
  readonly #children = new Map<string, Set<string>>();
  #synced = false;

  /** Whether a complete list has been taken in: only then does a missing uid mean a missing object. */
  get synced(): boolean {
    return this.#synced;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(uid: string): Entry | undefined {
    return this.#entries.get(uid);
  }

  entries(): Iterable<Entry> {
    return this.#entries.values();
  }

  /** The objects whose controller has this uid. */
  childrenOf(uid: string): readonly Entry[] {
    return [...(this.#children.get(uid) ?? [])].flatMap((child) => this.#entries.get(child) ?? []);
  }

  /** Takes in one event; undefined when it tells nothing new, as a stream that resumes may repeat itself. */
  apply({ type, meta }: ObjectEvent): Change | undefined {
    const after = entryOf(meta);
    const before = this.#entries.get(after.uid);
    if (type === 'DELETED') {
      this.#remove(after.uid);
      // Also when it was never seen: somebody may know it from before this process.
      return { kind: 'deleted', before: after, resourceVersion: after.resourceVersion };
    }
    if (before !== undefined && isNotNewer(after.resourceVersion, before.resourceVersion)) return undefined;
    return this.#put(before, after);
  }

  /**
   * Takes in a complete list. Objects that are missing in it were deleted unseen; those changes come first, so that
   * an object that was recreated under its name is known by its new uid in the end.
   */
  replace(list: Iterable<Entry>): readonly Change[] {
    const listed = new Map([...list].map((entry) => [entry.uid, entry]));
    const changes: Change[] = [];
    for (const before of [...this.#entries.values()]) {
      if (listed.has(before.uid)) continue;
      this.#remove(before.uid);
      changes.push({ kind: 'deleted', before, resourceVersion: undefined });
    }
    for (const after of listed.values()) {
      const before = this.#entries.get(after.uid);
      // Not "newer": in a store that was restored from a backup versions go back, and that is a change too.
      if (before?.resourceVersion !== after.resourceVersion) changes.push(this.#put(before, after));
    }
    this.#synced = true;
    return changes;
  }

  /** Forgets everything, as if the process had just started. */
  clear(): void {
    this.#entries.clear();
    this.#children.clear();
    this.#synced = false;
  }

  #put(before: Entry | undefined, after: Entry): Change {
    if (before !== undefined) this.#remove(before.uid);
    this.#entries.set(after.uid, after);
    if (after.controller !== undefined) {
      const siblings = this.#children.get(after.controller.uid) ?? new Set();
      this.#children.set(after.controller.uid, siblings.add(after.uid));
    }
    return before === undefined ? { kind: 'added', after } : { kind: 'modified', before, after };
  }

  #remove(uid: string): void {
    const owner = this.#entries.get(uid)?.controller?.uid;
    this.#entries.delete(uid);
    if (owner === undefined) return;
    const siblings = this.#children.get(owner);
    siblings?.delete(uid);
    if (siblings?.size === 0) this.#children.delete(owner);
  }
}

/** Short, and of a fixed length. Maps are sorted: their order on the wire means nothing. */
function digestOf({ labels, annotations, finalizers, ownerReferences, deletionTimestamp }: ObjectMeta): string {
  const relevant = [sorted(labels), sorted(annotations), finalizers, ownerReferences, deletionTimestamp];
  return createHash('sha256').update(JSON.stringify(relevant)).digest('base64url').slice(0, 22);
}

function sorted(map: Readonly<Record<string, string>> = {}): readonly (readonly [string, string])[] {
  return Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
}
