import type { ObjectKey } from '../kube/key.ts';
import type { Kind } from '../kube/kind.ts';
import type { KubeObject, Stored } from '../kube/object.ts';
import type { Fence } from './fence.ts';

/** The API server of one cluster. All that is asked of it, or written to it, is somebody's: who holds a claim. */
export interface Cluster {
  actingFor(holder: Holder): ClusterSession;
  /** Strict mode's. Undefined: the preconditions are all that keeps late writers from doing harm. */
  readonly fence: Fence | undefined;
}

/** For whom a session acts. */
export interface Holder {
  /** The controller's name. With the next one it stands in the API server's audit log. */
  readonly controller: string;
  /** Of the claim alone. Letters, digits, `-`, `_` and `.` only, at most 253. */
  readonly holderIdentity: string;
  /**
   * Throws when the lease may have passed to somebody else. Asked in the last moment before a write is sent, each time
   * it is sent: after it has waited for its turn, and again for each retry.
   */
  readonly assertLeased: () => void;
}

export interface WriteOptions {
  /** At most 128 characters; one per purpose, because two applies of one manager release each other's fields. */
  readonly fieldManager: string;
  readonly signal: AbortSignal;
}

export interface ApplyOptions extends WriteOptions {
  /** Takes fields from other managers instead of refusing. @default false */
  readonly force?: boolean;
}

/**
 * A cluster as the holder of one claim uses it, for one object at a time.
 *
 * Objects are raw JSON; nothing is dropped or converted. No write can do without a precondition: each takes what was
 * observed, or that nothing was, and names it to the server, so a writer that overslept is refused. A uid or
 * resourceVersion in the object to be written is not looked at.
 *
 * Errors: `ConflictError` when what was observed is so no longer, `LeaseLostError` when the lease is over,
 * `FieldConflictError` for fields of other managers, `ApiError` for every other refusal, `TransientError` when the
 * server did not answer in time or at all. A write without an answer may have happened.
 */
export interface ClusterSession {
  /** The object as it is now, or undefined when there is none. */
  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, signal: AbortSignal): Promise<Stored<T> | undefined>;

  /** Server-side apply of an object that must not exist: if it does, nothing of it is changed. */
  create<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions): Promise<Stored<T>>;

  /** Server-side apply to the `observed` object, which must not have changed since, nor be gone. */
  apply<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    desired: T,
    options: ApplyOptions,
  ): Promise<Stored<T>>;

  /**
   * Merge-patches the status subresource of the `observed` object, which must not have changed since. (On a custom
   * resource's status the server ignores a uid; the resourceVersion implies it.)
   */
  patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    status: Readonly<Record<string, unknown>>,
    options: WriteOptions,
  ): Promise<Stored<T>>;

  /** Deletes the `observed` object in the background; it must not have changed since. Already gone is success. */
  delete(kind: Kind, observed: Stored, signal: AbortSignal): Promise<void>;
}
