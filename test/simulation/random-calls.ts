/**
 * One instance's way to the world. Each call waits until the world lets it arrive; then it takes effect at once, and its
 * caller hears of it, or not. A caller that gave up, or died, does not take back what it has sent: the call arrives
 * whenever the world likes.
 */
import { TransientError } from '../../shared/errors.ts';
import { apiErrorOf } from '../../shared/kube/api-error.ts';
import type { ObjectKey } from '../../shared/kube/key.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject, Stored } from '../../shared/kube/object.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import type { Publisher, Topic } from '../../shared/ports/broker.ts';
import type { ApplyOptions, Cluster, ClusterSession, Holder, WriteOptions } from '../../shared/ports/cluster.ts';
import type { DueAlarm, Page, ReadItem, Revision, Swap, WorkStore } from '../../shared/ports/work-store.ts';
import type { ItemKey, WorkItem } from '../../shared/queue/work-item.ts';

/** `unsent`: the call never arrives. `unheard`: it arrives, and its reply does not. `refused`: the answer is an error. */
export type Fate = 'heard' | 'unsent' | 'unheard' | 'refused';

/** A call under way. */
export interface Call {
  /** By which instance. */
  readonly instance: string;
  /** For which object, by the name of the Widget. */
  readonly about: string;
  readonly what: string;
  /** Of the API server: the name of the object that it is about. */
  readonly target?: string;
  readonly arrive: (fate: Fate) => void;
}

type Calling = Pick<Call, 'about' | 'what' | 'target'>;
export type Send = <T>(call: Calling, signal: AbortSignal, act: () => Promise<T>) => Promise<T>;

const NEVER = new AbortController().signal;

/** Gives each call of the instance to `post`, which lets it arrive some time. The dead send nothing and hear nothing. */
export function sender(instance: string, isAlive: () => boolean, post: (call: Call) => void): Send {
  return (call, signal, act) =>
    new Promise((resolve, reject) => {
      if (!isAlive()) return;
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', () => isAlive() && reject(signal.reason), { once: true });
      const noAnswer = (): void => reject(new TransientError('UNAVAILABLE', `${call.what}: no answer`));
      const arrive = async (fate: Fate): Promise<void> => {
        try {
          const isTaken = fate === 'heard' || fate === 'unheard';
          const result = isTaken ? await act() : undefined;
          if (!isAlive()) return;
          if (fate === 'heard') resolve(result as Awaited<ReturnType<typeof act>>);
          else if (fate === 'refused') reject(refusal(call));
          else noAnswer();
        } catch (error) {
          if (!isAlive()) return;
          if (fate === 'heard') reject(error);
          else noAnswer();
        }
      };
      post({ ...call, instance, arrive: (fate) => void arrive(fate) });
    });
}

/** What an API server says that has too much to do, or does not let us; and a store that does not do what it is told. */
function refusal({ what, target }: Calling): Error {
  if (target === undefined) return new TransientError('ABORTED', `${what} was refused`);
  const status = REFUSALS[what] ?? { code: 503, reason: 'ServiceUnavailable' };
  return apiErrorOf(`${what} ${target}`, { message: 'not now', causes: [], ...status });
}

const REFUSALS: Readonly<Record<string, { code: number; reason: string; retryAfterMs?: number }>> = {
  apply: { code: 429, reason: 'TooManyRequests', retryAfterMs: 1_000 },
  status: { code: 403, reason: 'Forbidden' },
  delete: { code: 409, reason: 'Conflict' },
};

export class RemoteCluster implements Cluster {
  readonly fence = undefined;
  readonly #inner: Cluster;
  readonly #send: Send;

  constructor(inner: Cluster, send: Send) {
    this.#inner = inner;
    this.#send = send;
  }

  actingFor(holder: Holder): ClusterSession {
    // The lease is looked at when the call is sent; the world lets it arrive whatever has become of it.
    const arriving = { ...holder, assertLeased: () => undefined };
    return new RemoteSession(this.#inner.actingFor(arriving), this.#send, holder.assertLeased);
  }
}

class RemoteSession implements ClusterSession {
  readonly #inner: ClusterSession;
  readonly #send: Send;
  readonly #assertLeased: () => void;

  constructor(inner: ClusterSession, send: Send, assertLeased: () => void) {
    this.#inner = inner;
    this.#send = send;
    this.#assertLeased = assertLeased;
  }

  get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, signal: AbortSignal): Promise<Stored<T> | undefined> {
    return this.#send(callOf('get', key.name), signal, () => this.#inner.get(kind, key, NEVER));
  }
  async create<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions): Promise<Stored<T>> {
    return await this.#write('apply', object, options.signal, () =>
      this.#inner.create(kind, object, { ...options, signal: NEVER }),
    );
  }
  async apply<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    desired: T,
    options: ApplyOptions,
  ): Promise<Stored<T>> {
    return await this.#write('apply', observed, options.signal, () =>
      this.#inner.apply(kind, observed, desired, { ...options, signal: NEVER }),
    );
  }
  async patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    status: Readonly<Record<string, unknown>>,
    options: WriteOptions,
  ): Promise<Stored<T>> {
    return await this.#write('status', observed, options.signal, () =>
      this.#inner.patchStatus(kind, observed, status, { ...options, signal: NEVER }),
    );
  }
  async delete(kind: Kind, observed: Stored, signal: AbortSignal): Promise<void> {
    return await this.#write('delete', observed, signal, () => this.#inner.delete(kind, observed, NEVER));
  }

  async #write<T>(what: string, { metadata }: KubeObject, signal: AbortSignal, act: () => Promise<T>): Promise<T> {
    this.#assertLeased();
    return await this.#send(callOf(what, metadata.name), signal, act);
  }
}

export class RemoteStore implements WorkStore {
  readonly #inner: WorkStore;
  readonly #send: Send;

  constructor(inner: WorkStore, send: Send) {
    this.#inner = inner;
    this.#send = send;
  }

  read(key: ItemKey, signal: AbortSignal): Promise<ReadItem> {
    return this.#send({ about: key.name, what: 'read' }, signal, () => this.#inner.read(key, NEVER));
  }
  write(item: WorkItem, expected: Revision | undefined, signal: AbortSignal): Promise<Swap> {
    return this.#send({ about: item.key.name, what: 'write' }, signal, () => this.#inner.write(item, expected, NEVER));
  }
  remove(key: ItemKey, expected: Revision, signal: AbortSignal): Promise<Swap['kind']> {
    return this.#send({ about: key.name, what: 'remove' }, signal, () => this.#inner.remove(key, expected, NEVER));
  }
  due(limit: number, signal: AbortSignal): Promise<readonly DueAlarm[]> {
    return this.#send({ about: '', what: 'due' }, signal, () => this.#inner.due(limit, NEVER));
  }
  list(cluster: string, page: Page, signal: AbortSignal): Promise<readonly WorkItem[]> {
    return this.#send({ about: '', what: 'list' }, signal, () => this.#inner.list(cluster, page, NEVER));
  }
}

export class RemotePublisher implements Publisher {
  readonly #accept: (doorbell: Doorbell) => void;
  readonly #send: Send;

  constructor(accept: (doorbell: Doorbell) => void, send: Send) {
    this.#accept = accept;
    this.#send = send;
  }

  publish(_topic: Topic, doorbell: Doorbell): Promise<string> {
    return this.#send({ about: doorbell.key.name, what: 'publish' }, new AbortController().signal, async () => {
      this.#accept(doorbell);
      return 'accepted';
    });
  }
  async close(): Promise<void> {}
}

/** Children are called `{widget}-{something}`. */
function callOf(what: string, name: string): Calling {
  return { about: name.split('-')[0] ?? '', what, target: name };
}
