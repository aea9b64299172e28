import { isDeepStrictEqual } from 'node:util';
import { LeaseLostError } from '../../errors.ts';
import { type ApiStatus, apiErrorOf, type StatusCause } from '../../kube/api-error.ts';
import { FENCED } from '../../kube/fence.ts';
import { formatRef, type ObjectKey, type ObjectRef } from '../../kube/key.ts';
import { apiVersionOf, formatGroupKind, type Kind } from '../../kube/kind.ts';
import type { KubeObject, Stored } from '../../kube/object.ts';
import type { WatchEvent } from '../../kube/watch-event.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ApplyOptions, Cluster, ClusterSession, Holder, WriteOptions } from '../../ports/cluster.ts';
import type { Fence } from '../../ports/fence.ts';
import type { MetadataList, MetadataSource, WatchStart } from '../../ports/metadata-source.ts';
import { ClusterFeed } from './cluster-feed.ts';
import { copied, type Fields, isFields } from './cluster-fields.ts';
import { applied, type Managed, updated } from './cluster-managers.ts';
import {
  ClusterStore,
  type Entry,
  FIRST_VERSION,
  finalizersOf,
  sharedFieldsOf,
  toObject,
  watchedMetaOf,
} from './cluster-store.ts';

/** One call of a port, for tests that let it fail, or do something just then. */
export interface ClusterCall {
  readonly verb: 'get' | 'create' | 'apply' | 'patchStatus' | 'delete' | 'fence' | 'list' | 'watch';
  /** `Deployment.apps default/web`; for `list` and `watch` only the kind, for `fence` the holders. */
  readonly target: string;
  /** Before the call does anything, or after it did everything and before the caller learns of it. */
  readonly point: 'before' | 'after';
}

/** What it throws is what the caller gets; thrown `after` a write, the write has happened all the same. */
export type Interceptor = (call: ClusterCall) => void | Promise<void>;

export interface MemoryClusterOptions {
  /** For timestamps only. @default 2026-01-01T00:00:00Z, always */
  readonly clock?: Pick<Clock, 'now'>;
  /** With a fence, which is effective at once. @default false */
  readonly strict?: boolean;
}

/**
 * A model of what Driftless relies on in an API server and its garbage collector: for tests and simulation.
 *
 * True to the measured server: identity, resourceVersion and generation, optimistic locks and uid preconditions,
 * server-side apply with ownership per field, no-ops that store nothing, finalizers, garbage collection, watches that
 * expire. Not modelled: schemas, defaults, admission, namespaces, permissions; all kinds have a status subresource.
 *
 * Each call takes effect at one point in time. The same calls in the same order give the same uids and versions.
 */
export class MemoryCluster implements Cluster, MetadataSource {
  /** Runs around every call of the ports; the methods for tests below are not intercepted. */
  intercept: Interceptor | undefined;

  readonly fence: Fence | undefined;
  readonly #fenced = new Set<string>();
  readonly #feed = new ClusterFeed(FIRST_VERSION);
  readonly #store: ClusterStore;

  constructor({
    clock = { now: () => Date.parse('2026-01-01T00:00:00Z') },
    strict = false,
  }: MemoryClusterOptions = {}) {
    this.#store = new ClusterStore(clock, (event) => this.#feed.append(event));
    this.fence = strict ? this.#newFence() : undefined;
  }

  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, signal: AbortSignal): Promise<Stored<T> | undefined> {
    const ref = refOf(kind, key);
    return this.#call('get', formatRef(ref), signal, () => {
      const entry = this.#store.get(ref);
      return entry === undefined ? undefined : objectOf(kind, entry);
    });
  }

  actingFor({ holderIdentity, assertLeased }: Holder): ClusterSession {
    /** Asked before the call is on its way; what happens to it then is the interceptor's matter. */
    const write = async <R>(
      verb: ClusterCall['verb'],
      ref: ObjectRef,
      signal: AbortSignal,
      act: () => R,
    ): Promise<R> => {
      assertLeased();
      return await this.#call(verb, formatRef(ref), signal, () => {
        if (this.#fenced.has(holderIdentity)) throw new LeaseLostError(`cannot ${verb} ${formatRef(ref)}: ${FENCED}`);
        return act();
      });
    };
    return {
      get: (kind, key, signal) => this.get(kind, key, signal),
      create: (kind, object, options) => {
        const ref = refOf(kind, keyOf(object));
        return write('create', ref, options.signal, () => this.#create(kind, object, options));
      },
      apply: (kind, observed, desired, options) => {
        const ref = refOf(kind, keyOf(desired));
        return write('apply', ref, options.signal, () => this.#apply(kind, observed, desired, options));
      },
      patchStatus: (kind, observed, status, options) => {
        const ref = refOf(kind, keyOf(observed));
        return write('patchStatus', ref, options.signal, () => this.#patchStatus(kind, observed, status, options));
      },
      delete: (kind, observed, signal) => {
        const ref = refOf(kind, keyOf(observed));
        return write('delete', ref, signal, () => this.#delete(ref, observed));
      },
    };
  }

  async version(kind: Kind, signal: AbortSignal): Promise<string> {
    return (await this.list(kind, signal)).resourceVersion;
  }

  list(kind: Kind, signal: AbortSignal): Promise<MetadataList> {
    return this.#call('list', formatGroupKind(kind), signal, () => ({
      items: this.#store.all(kind).map(watchedMetaOf),
      resourceVersion: String(this.#store.version),
    }));
  }

  async *watch(kind: Kind, start: WatchStart, signal: AbortSignal): AsyncIterable<WatchEvent> {
    const { initial, rest } = await this.#call('watch', formatGroupKind(kind), signal, () => {
      if (start.from === 'version') {
        return { initial: [], rest: this.#feed.follow(kind, Number(start.resourceVersion), signal) };
      }
      const { version } = this.#store;
      const added = this.#store.all(kind).map((entry): WatchEvent => ({ type: 'ADDED', meta: watchedMetaOf(entry) }));
      const end: WatchEvent = { type: 'BOOKMARK', resourceVersion: String(version), initialEventsEnd: true };
      return { initial: [...added, end], rest: this.#feed.follow(kind, version, signal) };
    });
    yield* initial;
    yield* rest;
  }

  /** All objects, for assertions. */
  objects(): readonly Stored[] {
    return this.#store.all().map(toObject);
  }

  /** Another client creates an object. */
  create<T extends KubeObject>(kind: Kind<T>, object: T, manager = 'kubectl-create'): Stored<T> {
    const ref = refOf(kind, keyOf(object));
    const request = `create ${formatRef(ref)}`;
    if (this.#store.get(ref) !== undefined) throw refusal(request, 409, 'AlreadyExists', 'it exists');
    const managed = updated(NOTHING, sharedFieldsOf(object), manager);
    return objectOf(kind, this.#store.put(ref, { apiVersion: apiVersionOf(kind), managed, status: undefined }));
  }

  /** Another client edits an object, or its status: what changes becomes the manager's. */
  edit<T extends KubeObject>(
    kind: Kind<T>,
    key: ObjectKey,
    manager: string,
    change: (object: Stored<T>) => T,
  ): Stored<T> {
    const ref = refOf(kind, key);
    const request = `edit ${formatRef(ref)}`;
    const live = this.#existing(request, ref);
    const edited = change(objectOf(kind, live));
    const { status } = edited;
    // The status first: the other write may be the one that lets the object go.
    const entry = this.#store.put(ref, withStatus(live, copied(status), manager));
    const managed = updated(entry.managed, sharedFieldsOf(edited), manager);
    return objectOf(kind, this.#write(request, ref, entry, { managed, apiVersion: live.apiVersion }));
  }

  /** Another client deletes an object. */
  remove(kind: Kind, key: ObjectKey): void {
    const ref = refOf(kind, key);
    this.#store.delete(this.#existing(`delete ${formatRef(ref)}`, ref));
  }

  /** Forgets the history, so that a watch from any earlier resourceVersion expires. */
  expireWatches(): void {
    this.#feed.forget(this.#store.version);
  }

  /** Ends all open watches without an error. */
  endWatches(): void {
    this.#feed.end();
  }

  async #call<R>(verb: ClusterCall['verb'], target: string, signal: AbortSignal, act: () => R): Promise<R> {
    signal.throwIfAborted();
    await this.intercept?.({ verb, target, point: 'before' });
    signal.throwIfAborted();
    const result = act();
    await this.intercept?.({ verb, target, point: 'after' });
    return result;
  }

  #create<T extends KubeObject>(kind: Kind<T>, object: T, { fieldManager }: WriteOptions): Stored<T> {
    const ref = refOf(kind, keyOf(object));
    const request = `apply ${formatRef(ref)}`;
    checkForm(request, kind, object);
    if (this.#store.get(ref) !== undefined) {
      throw refusal(request, 409, 'Conflict', 'the object has been modified');
    }
    const { managed } = appliedTo(request, undefined, object, { fieldManager });
    return objectOf(kind, this.#write(request, ref, undefined, { managed, apiVersion: apiVersionOf(kind) }));
  }

  #apply<T extends KubeObject>(kind: Kind<T>, observed: Stored<T>, desired: T, options: Applying): Stored<T> {
    const ref = refOf(kind, keyOf(desired));
    const request = `apply ${formatRef(ref)}`;
    const live = this.#store.get(ref);
    checkForm(request, kind, desired);
    // As the server does it: whoever is both stale and in conflict learns of the conflict.
    const { managed } = appliedTo(request, live, desired, options);
    checkPreconditions(request, observed, live);
    return objectOf(kind, this.#write(request, ref, live, { managed, apiVersion: apiVersionOf(kind) }));
  }

  #patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    status: Fields,
    { fieldManager }: WriteOptions,
  ): Stored<T> {
    const ref = refOf(kind, keyOf(observed));
    const request = `patch status of ${formatRef(ref)}`;
    const live = this.#existing(request, ref);
    checkVersion(request, observed.metadata.resourceVersion, live);
    const next = mergePatched(live.status ?? {}, copied(status));
    return objectOf(kind, this.#store.put(ref, withStatus(live, next, fieldManager)));
  }

  #delete(ref: ObjectRef, { metadata: { uid, resourceVersion } }: Stored): void {
    const request = `delete ${formatRef(ref)}`;
    const live = this.#store.get(ref);
    if (live === undefined) return;
    if (uid !== live.meta.uid) {
      throw refusal(request, 409, 'Conflict', `the UID ${uid} does not match ${live.meta.uid}`);
    }
    checkVersion(request, resourceVersion, live);
    this.#store.delete(live);
  }

  #newFence(): Fence {
    const add = (holders: readonly string[]): void => {
      for (const holder of holders) this.#fenced.add(holder);
    };
    return {
      add: (holders, signal) => this.#call('fence', holders.join(' '), signal, () => add(holders)),
    };
  }

  #existing(request: string, ref: ObjectRef): Entry {
    const entry = this.#store.get(ref);
    if (entry === undefined) throw refusal(request, 404, 'NotFound', 'not found');
    return entry;
  }

  #write(
    request: string,
    ref: ObjectRef,
    live: Entry | undefined,
    next: { readonly apiVersion: string; readonly managed: Managed },
  ): Entry {
    const isLeaving = live?.meta.deletionTimestamp !== undefined;
    const known = live === undefined ? [] : finalizersOf(live);
    if (isLeaving && finalizersOf(next).some((finalizer) => !known.includes(finalizer))) {
      throw refusal(request, 422, 'Invalid', 'no new finalizers can be added if the object is being deleted', [
        { reason: 'FieldValueForbidden', message: 'Forbidden', field: 'metadata.finalizers' },
      ]);
    }
    return this.#store.put(ref, { ...next, status: live?.status });
  }
}

const NOTHING: Managed = { fields: {}, managers: [] };

function checkForm(request: string, kind: Kind, { apiVersion, kind: name, metadata }: KubeObject): void {
  if (apiVersion !== apiVersionOf(kind) || name !== kind.kind) {
    throw refusal(request, 400, 'BadRequest', `the object is a ${apiVersion} ${name}`);
  }
  if (metadata.managedFields !== undefined) {
    throw refusal(request, 400, 'BadRequest', 'metadata.managedFields must be nil');
  }
}

type Applying = Pick<ApplyOptions, 'fieldManager' | 'force'>;

function appliedTo(request: string, live: Entry | undefined, object: KubeObject, options: Applying) {
  const { fieldManager, force = false } = options;
  const outcome = applied(live?.managed ?? NOTHING, sharedFieldsOf(object), fieldManager, force);
  if (outcome.kind === 'conflict') throw refusal(request, 409, 'Conflict', 'fields conflict', outcome.causes);
  return outcome;
}

function checkPreconditions(
  request: string,
  { metadata: { uid, resourceVersion } }: Stored,
  live: Entry | undefined,
): asserts live is Entry {
  if (live === undefined) throw refusal(request, 409, 'Conflict', `uid mismatch: ${uid}, and no object was found`);
  checkVersion(request, resourceVersion, live);
  if (uid !== live.meta.uid) {
    throw refusal(request, 422, 'Invalid', 'field is immutable', [
      { reason: 'FieldValueInvalid', message: 'field is immutable', field: 'metadata.uid' },
    ]);
  }
}

function checkVersion(request: string, resourceVersion: string, live: Entry): void {
  if (resourceVersion !== live.meta.resourceVersion) {
    throw refusal(request, 409, 'Conflict', 'the object has been modified');
  }
}

function refusal(request: string, code: number, reason: string, message: string, causes: readonly StatusCause[] = []) {
  const status: ApiStatus = { code, reason, message, causes };
  return apiErrorOf(request, status);
}

function withStatus(entry: Entry, status: unknown, manager: string): Entry {
  if (isDeepStrictEqual(status, entry.status)) return entry;
  const before: Managed = { fields: statusFields(entry.status), managers: entry.managed.managers };
  const { managers } = updated(before, statusFields(status), manager, 'status');
  return { ...entry, status, managed: { ...entry.managed, managers } };
}

function statusFields(status: unknown): Fields {
  return status === undefined ? {} : { status };
}

/** RFC 7386. */
export function mergePatched(target: unknown, patch: unknown): unknown {
  if (!isFields(patch)) return patch;
  const result: Record<string, unknown> = isFields(target) ? { ...target } : {};
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete result[name];
    else result[name] = mergePatched(result[name], value);
  }
  return result;
}

function refOf({ group, kind }: Kind, { namespace, name }: ObjectKey): ObjectRef {
  return { group, kind, namespace, name };
}

function keyOf({ metadata: { namespace = '', name } }: KubeObject): ObjectKey {
  return { namespace, name };
}

/** Objects of a kind are only written by calls that name the kind, so they have its type. */
function objectOf<T extends KubeObject>(_kind: Kind<T>, entry: Entry): Stored<T> {
  return toObject(entry) as Stored<T>;
}
