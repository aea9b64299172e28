import { isDeepStrictEqual } from 'node:util';
import { formatRef, type ObjectRef } from '../../kube/key.ts';
import { formatGroupKind, type GroupKind } from '../../kube/kind.ts';
import { withoutSecrets } from '../../kube/metadata.ts';
import type { KubeObject, ObjectMeta, Stored, StoredMeta } from '../../kube/object.ts';
import { toRfc3339 } from '../../kube/time.ts';
import type { WatchEvent } from '../../kube/watch-event.ts';
import type { Clock } from '../../ports/clock.ts';
import { copied, type Fields } from './cluster-fields.ts';
import { type Managed, toManagedFields } from './cluster-managers.ts';

/** A stored object; what the server owns of its metadata is in `meta`, what managers share in `managed`. */
export interface Entry {
  readonly ref: ObjectRef;
  readonly apiVersion: string;
  readonly meta: ServerMeta;
  readonly managed: Managed;
  readonly status: unknown;
}

interface ServerMeta {
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp: string;
  readonly deletionTimestamp?: string;
}

/** What a write leaves of an object; the store adds identity, versions and generation. */
export interface Draft {
  readonly apiVersion: string;
  readonly managed: Managed;
  readonly status: unknown;
  readonly deleting?: boolean;
}

export interface LoggedEvent {
  readonly version: number;
  readonly groupKind: string;
  readonly event: WatchEvent;
}

/** The resourceVersion of the empty cluster. */
export const FIRST_VERSION = 100;

/** Kinds whose objects have no `metadata.generation`. */
const WITHOUT_GENERATION: ReadonlySet<string> = new Set([
  'ConfigMap',
  'Secret',
  'Service',
  'ServiceAccount',
  'Namespace',
  'PersistentVolumeClaim',
  'Node',
  'Lease.coordination.k8s.io',
  'ClusterRole.rbac.authorization.k8s.io',
  'ClusterRoleBinding.rbac.authorization.k8s.io',
]);

/** The objects of a cluster with their history: identity, versions, generations, finalizers, garbage collection. */
export class ClusterStore {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #entries = new Map<string, Entry>();
  readonly #onEvent: (event: LoggedEvent) => void;
  #version = FIRST_VERSION;
  #uids = 0;

  constructor(clock: Pick<Clock, 'now'>, onEvent: (event: LoggedEvent) => void) {
    this.#clock = clock;
    this.#onEvent = onEvent;
  }

  /** The resourceVersion of the last change. */
  get version(): number {
    return this.#version;
  }

  get(ref: ObjectRef): Entry | undefined {
    return this.#entries.get(formatRef(ref));
  }

  all(kind?: GroupKind): readonly Entry[] {
    const entries = [...this.#entries.values()];
    return kind === undefined ? entries : entries.filter(({ ref }) => formatGroupKind(ref) === formatGroupKind(kind));
  }

  /** Stores a change, or nothing when there is none: then the resourceVersion stays. */
  put(ref: ObjectRef, draft: Draft): Entry {
    const before = this.get(ref);
    const after = before === undefined ? this.#created(ref, draft) : this.#changed(before, draft);
    if (after === before) return before;
    if (after.meta.deletionTimestamp !== undefined && finalizersOf(after).length === 0) {
      this.#remove(after);
      return after;
    }
    this.#entries.set(formatRef(ref), after);
    this.#emit(before === undefined ? 'ADDED' : 'MODIFIED', after);
    this.#collectGarbage();
    return after;
  }

  /** Deletes in the background: at once, or when the last finalizer is gone. */
  delete(entry: Entry): void {
    if (finalizersOf(entry).length > 0) this.put(entry.ref, { ...entry, deleting: true });
    else this.#remove({ ...entry, meta: { ...entry.meta, resourceVersion: this.#nextVersion() } });
  }

  #created(ref: ObjectRef, draft: Draft): Entry {
    return {
      ...contentOf(draft),
      ref,
      meta: {
        uid: `00000000-0000-4000-8000-${String(++this.#uids).padStart(12, '0')}`,
        resourceVersion: this.#nextVersion(),
        creationTimestamp: toRfc3339(this.#clock.now()),
        ...(WITHOUT_GENERATION.has(formatGroupKind(ref)) ? {} : { generation: 1 }),
      },
    };
  }

  #changed(before: Entry, draft: Draft): Entry {
    const { generation, deletionTimestamp } = before.meta;
    const isLeaving = draft.deleting === true && deletionTimestamp === undefined;
    const after = { ...before, ...contentOf(draft) };
    if (!isLeaving && isDeepStrictEqual(after, before)) return before;
    const isNewGeneration = isLeaving || !isDeepStrictEqual(generating(before), generating(after));
    return {
      ...after,
      meta: {
        ...before.meta,
        resourceVersion: this.#nextVersion(),
        ...(generation !== undefined && isNewGeneration ? { generation: generation + 1 } : {}),
        ...(isLeaving ? { deletionTimestamp: toRfc3339(this.#clock.now()) } : {}),
      },
    };
  }

  #remove(entry: Entry): void {
    this.#entries.delete(formatRef(entry.ref));
    this.#emit('DELETED', entry);
    this.#collectGarbage();
  }

  /** Deletes whatever has owners, all of which are gone. An owner in another namespace counts as gone. */
  #collectGarbage(): void {
    const orphan = this.all().find((entry) => {
      const owners = metadataOf(entry).ownerReferences ?? [];
      return (
        owners.length > 0 && entry.meta.deletionTimestamp === undefined && !owners.some((o) => this.#has(o.uid, entry))
      );
    });
    if (orphan !== undefined) this.delete(orphan);
  }

  #has(ownerUid: string, { ref: { namespace } }: Entry): boolean {
    return this.all().some(
      ({ meta, ref }) => meta.uid === ownerUid && (ref.namespace === '' || ref.namespace === namespace),
    );
  }

  #emit(type: 'ADDED' | 'MODIFIED' | 'DELETED', entry: Entry): void {
    this.#onEvent({
      version: Number(entry.meta.resourceVersion),
      groupKind: formatGroupKind(entry.ref),
      event: { type, meta: watchedMetaOf(entry) },
    });
  }

  #nextVersion(): string {
    return String(++this.#version);
  }
}

/** The object as the server answers with it. */
export function toObject({ ref, apiVersion, meta, managed, status }: Entry): Stored {
  const { metadata: _, ...fields } = managed.fields;
  return copied({
    apiVersion,
    kind: ref.kind,
    ...fields,
    ...(status === undefined ? {} : { status }),
    metadata: {
      ...namedMetaOf({ ref, meta, managed }),
      ...(managed.managers.length === 0 ? {} : { managedFields: toManagedFields(managed.managers) }),
    },
  });
}

export function watchedMetaOf(entry: Entry): StoredMeta {
  return withoutSecrets(copied(namedMetaOf(entry)));
}

function namedMetaOf({ ref, meta, managed }: Pick<Entry, 'ref' | 'meta' | 'managed'>): StoredMeta {
  const namespace = ref.namespace === '' ? {} : { namespace: ref.namespace };
  return { ...metadataOf({ managed }), name: ref.name, ...namespace, ...meta };
}

export function finalizersOf(entry: { readonly managed: Managed }): readonly string[] {
  return metadataOf(entry).finalizers ?? [];
}

/** What managers share of an object as somebody sends it: no status, and no empty maps and lists in the metadata. */
export function sharedFieldsOf(object: KubeObject): Fields {
  const { apiVersion: _, kind: __, status: ___, metadata, ...fields } = object;
  const shared = Object.fromEntries(
    Object.entries(metadata).filter(([name, value]) => !SERVER_OWNED.has(name) && Object.keys(value ?? {}).length > 0),
  );
  return copied(Object.keys(shared).length === 0 ? fields : { ...fields, metadata: shared });
}

const SERVER_OWNED: ReadonlySet<string> = new Set([
  'name',
  'namespace',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'managedFields',
]);

function metadataOf({ managed }: { readonly managed: Managed }): Partial<ObjectMeta> {
  const { metadata = {} } = managed.fields;
  return metadata as Partial<ObjectMeta>;
}

function contentOf({ apiVersion, managed, status }: Draft): Draft {
  return { apiVersion, managed, status };
}

/** What moves the generation: all but metadata and status; of a Deployment, its annotations as well. */
function generating(entry: Entry): unknown {
  const { metadata: _, ...fields } = entry.managed.fields;
  return formatGroupKind(entry.ref) === 'Deployment.apps' ? [fields, metadataOf(entry).annotations] : fields;
}
