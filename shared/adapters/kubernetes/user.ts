import { isNotFound } from '../../kube/api-error.ts';
import type { ObjectKey } from '../../kube/key.ts';
import type { Kind } from '../../kube/kind.ts';
import type { KubeObject, Stored } from '../../kube/object.ts';
import type { ApplyOptions } from '../../ports/cluster.ts';
import { applyRequest, asStored, deleteRequest, getRequest } from './requests.ts';
import type { Transport } from './transport.ts';

/**
 * A cluster as a person with kubectl uses it: writes say nothing of what was observed, and overwrite whatever is there.
 * For those who install, show and test; a run gets a `Cluster`, which cannot write like that.
 *
 * Errors: those of a `ClusterSession`, but for the ones that come from its preconditions.
 */
export class KubernetesUser {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, signal: AbortSignal): Promise<Stored<T> | undefined> {
    try {
      return asStored<T>((await this.#transport.call(getRequest(kind, key), signal)).body);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async apply<T extends KubeObject>(kind: Kind<T>, object: T, options: ApplyOptions): Promise<Stored<T>> {
    return asStored<T>((await this.#transport.call(applyRequest(kind, object, {}, options), options.signal)).body);
  }

  /** Already gone is success. */
  async delete(kind: Kind, key: ObjectKey, signal: AbortSignal): Promise<void> {
    try {
      await this.#transport.call(deleteRequest(kind, key, {}), signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
