import { isNotFound } from '../../kube/api-error.ts';
import { formatRef, type ObjectKey } from '../../kube/key.ts';
import type { Kind } from '../../kube/kind.ts';
import type { KubeObject, Stored } from '../../kube/object.ts';
import type { Applied, ApplyOptions, Cluster } from '../../ports/cluster.ts';
import { objectPath } from './paths.ts';
import type { Transport } from './transport.ts';

/** A cluster behind its API server. */
export class KubernetesCluster implements Cluster {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async get<T extends KubeObject>(kind: Kind<T>, key: ObjectKey, signal: AbortSignal): Promise<Stored<T> | undefined> {
    try {
      const request = { method: 'GET', path: objectPath(kind, key), what: what('get', kind, key) } as const;
      const { body } = await this.#transport.call(request, signal);
      return asStored<T>(body);
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  async apply<T extends KubeObject>(kind: Kind<T>, object: T, options: ApplyOptions): Promise<Applied<T>> {
    const key = keyOf(object);
    const { fieldManager, force = false, signal } = options;
    const { code, body } = await this.#transport.call(
      {
        method: 'PATCH',
        path: objectPath(kind, key),
        query: { fieldManager, force: String(force), fieldValidation: 'Strict' },
        contentType: 'application/apply-patch+yaml',
        body: asYaml(object),
        what: what('apply', kind, key),
      },
      signal,
    );
    return { object: asStored<T>(body), created: code === 201 };
  }

  async patchStatus<T extends KubeObject>(
    kind: Kind<T>,
    observed: Stored<T>,
    status: Readonly<Record<string, unknown>>,
    { fieldManager, signal }: ApplyOptions,
  ): Promise<Stored<T>> {
    const key = keyOf(observed);
    const { body } = await this.#transport.call(
      {
        method: 'PATCH',
        path: objectPath(kind, key, 'status'),
        query: { fieldManager, fieldValidation: 'Strict' },
        contentType: 'application/merge-patch+json',
        body: JSON.stringify({ metadata: { resourceVersion: observed.metadata.resourceVersion }, status }),
        what: what('patch status of', kind, key),
      },
      signal,
    );
    return asStored<T>(body);
  }

  async delete(kind: Kind, observed: Stored, signal: AbortSignal): Promise<void> {
    const key = keyOf(observed);
    try {
      await this.#transport.call(
        {
          method: 'DELETE',
          path: objectPath(kind, key),
          contentType: 'application/json',
          body: JSON.stringify({
            apiVersion: 'v1',
            kind: 'DeleteOptions',
            propagationPolicy: 'Background',
            preconditions: { uid: observed.metadata.uid },
          }),
          what: what('delete', kind, key),
        },
        signal,
      );
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}

function keyOf({ metadata: { namespace = '', name } }: KubeObject): ObjectKey {
  return { namespace, name };
}

function what(verb: string, kind: Kind, key: ObjectKey): string {
  return `${verb} ${formatRef({ ...kind, ...key })}`;
}

/** The server stores what it answers with. */
function asStored<T extends KubeObject>(body: unknown): Stored<T> {
  return body as Stored<T>;
}

/**
 * JSON that a YAML 1.1 parser reads as the same text: the server takes an apply only as YAML.
 *
 * Sent as they are, it turns U+0085 (next line) into a space without a word, and refuses DEL, the C1 controls and
 * non-characters. Escaped, all of them arrive; escaped surrogate pairs would not, so nothing else is escaped.
 */
function asYaml(object: KubeObject): string {
  return JSON.stringify(object).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
