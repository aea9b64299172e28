import { LeaseLostError } from '../../errors.ts';
import { ApiError, isNotFound } from '../../kube/api-error.ts';
import { FENCED, FENCED_USER, HOLDER_EXTRA } from '../../kube/fence.ts';
import type { ObjectKey } from '../../kube/key.ts';
import type { Kind } from '../../kube/kind.ts';
import type { KubeObject, Stored } from '../../kube/object.ts';
import type { ApplyOptions, Cluster, ClusterSession, Holder, WriteOptions } from '../../ports/cluster.ts';
import type { Fence } from '../../ports/fence.ts';
import {
  applyRequest,
  asStored,
  deleteRequest,
  getRequest,
  keyOf,
  type Preconditions,
  statusRequest,
} from './requests.ts';
import type { ApiRequest, Transport } from './transport.ts';

/**
 * "Must not exist", said as a resourceVersion: that of etcd's first revision, which no object has. The server creates an
 * object that is not there whatever the version says, and refuses any other version of one that is.
 */
const NOT_EXISTING: Preconditions = { resourceVersion: '1' };

/**
 * A cluster behind its API server. Each request says whose it is: `User-Agent: driftless/webapp rev.instance.claim`; with a
 * fence also in a way that the server can act on, as an attribute of the user who asks.
 */
export class KubernetesCluster implements Cluster {
  readonly fence: Fence | undefined;
  readonly #transport: Transport;

  constructor(transport: Transport, fence?: Fence) {
    this.#transport = transport;
    this.fence = fence;
  }

  actingFor(holder: Holder): ClusterSession {
    return new KubernetesSession(this.#transport, holder, this.fence !== undefined);
  }
}

class KubernetesSession implements ClusterSession {
  readonly #transport: Transport;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #assertLeased: () => void;

  constructor(transport: Transport, { controller, holderIdentity, assertLeased }: Holder, isFenced: boolean) {
    this.#transport = transport;
    this.#headers = {
      'user-agent': `driftless/${controller} ${holderIdentity}`,
      ...(isFenced ? { 'impersonate-user': FENCED_USER, [`impersonate-extra-${HOLDER_EXTRA}`]: holderIdentity } : {}),
    };
    this.#assertLeased = assertLeased;
  }

  async get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, signal: AbortSignal): Promise<Stored<T> | undefined> {
    try {
      const { body } = await this.#transport.call({ ...getRequest(kind, key), headers: this.#headers }, signal);
      return asStored<T>(body);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async create<T extends KubeObject>(kind: Kind<T>, object: T, options: WriteOptions): Promise<Stored<T>> {
    // With force, whoever finds the object there learns that, and not which fields of it belong to whom. It takes none.
    const request = applyRequest(kind, object, NOT_EXISTING, { ...options, force: true });
    return asStored<T>(await this.#write(request, options.signal));
  }

  async apply<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    desired: T,
    options: ApplyOptions,
  ): Promise<Stored<T>> {
    const request = applyRequest(kind, desired, preconditionsOf(observed), options);
    return asStored<T>(await this.#write(request, options.signal));
  }

  async patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    status: Readonly<Record<string, unknown>>,
    options: WriteOptions,
  ): Promise<Stored<T>> {
    return asStored<T>(await this.#write(statusRequest(kind, observed, status, options), options.signal));
  }

  async delete(kind: Kind, observed: Stored, signal: AbortSignal): Promise<void> {
    try {
      await this.#write(deleteRequest(kind, keyOf(observed), preconditionsOf(observed)), signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }

  async #write(request: ApiRequest, signal: AbortSignal): Promise<unknown> {
    const assertMaySend = this.#assertLeased;
    try {
      const { body } = await this.#transport.call({ ...request, headers: this.#headers, assertMaySend }, signal);
      return body;
    } catch (error) {
      throw isFenced(error) ? new LeaseLostError(`cannot ${request.what}: ${FENCED}`, { cause: error }) : error;
    }
  }
}

function isFenced(error: unknown): boolean {
  return error instanceof ApiError && error.status.code === 403 && error.status.message.includes(FENCED);
}

function preconditionsOf({ metadata: { uid, resourceVersion } }: Stored): Preconditions {
  return { uid, resourceVersion };
}
