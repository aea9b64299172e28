import type { ObjectKey } from '../kube/key.ts';
import type { Kind } from '../kube/kind.ts';
import type { KubeObject, Stored } from '../kube/object.ts';

export interface ApplyOptions {
  /** At most 128 characters; one per purpose, because two applies of one manager release each other's fields. */
  readonly fieldManager: string;
  /** Takes fields from other managers instead of refusing. @default false */
  readonly force?: boolean;
  readonly signal: AbortSignal;
}

export interface Applied<T extends KubeObject> {
  readonly object: Stored<T>;
  /** The object did not exist before. */
  readonly created: boolean;
}

/**
 * The API server of one cluster, for one object at a time.
 *
 * Objects are raw JSON; nothing is dropped or converted. Every write carries what was observed as its precondition
 * (uid, resourceVersion), so a writer that overslept is refused.
 *
 * Errors: `ConflictError` for a lost optimistic lock, `FieldConflictError` for fields of other managers, `ApiError`
 * for every other refusal, `TransientError` when the server did not answer in time or at all.
 */
export interface Cluster {
  /** The object as it is now, or undefined when there is none. */
  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, signal: AbortSignal): Promise<Stored<T> | undefined>;

  /**
   * Server-side apply. With `metadata.uid` the object must exist with that uid (never created, never another one);
   * with `metadata.resourceVersion` it must not have changed since.
   */
  apply<T extends KubeObject>(kind: Kind<T>, object: T, options: ApplyOptions): Promise<Applied<T>>;

  /**
   * Merge-patches the status subresource. `observed` gives the key and the resourceVersion that must still be
   * current; on a custom resource's status a uid in the body is ignored, a resourceVersion is not.
   */
  patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    status: Readonly<Record<string, unknown>>,
    options: ApplyOptions,
  ): Promise<Stored<T>>;

  /** Deletes in the background exactly the observed object. Already gone is success; another uid is a `ConflictError`. */
  delete(kind: Kind, observed: Stored, signal: AbortSignal): Promise<void>;
}
