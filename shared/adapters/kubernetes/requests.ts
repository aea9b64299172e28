import { formatRef, type ObjectKey } from '../../kube/key.ts';
import type { Kind } from '../../kube/kind.ts';
import type { KubeObject, Stored } from '../../kube/object.ts';
import type { ApplyOptions, WriteOptions } from '../../ports/cluster.ts';
import { objectPath } from './paths.ts';
import type { ApiRequest } from './transport.ts';

/** What a write names of the object as it was observed. */
export interface Preconditions {
  readonly uid?: string;
  readonly resourceVersion?: string;
}

export function getRequest(kind: Kind, key: ObjectKey): ApiRequest {
  return { method: 'GET', path: objectPath(kind, key), what: what('get', kind, key) };
}

/** @param preconditions take the place of those that `object` names, which an object that was read has */
export function applyRequest(
  kind: Kind,
  { metadata, ...content }: KubeObject,
  preconditions: Preconditions,
  { fieldManager, force = false }: ApplyOptions,
): ApiRequest {
  const key = keyOf({ metadata });
  const { uid: _, resourceVersion: __, ...named } = metadata;
  return {
    method: 'PATCH',
    path: objectPath(kind, key),
    query: { fieldManager, force: String(force), fieldValidation: 'Strict' },
    contentType: 'application/apply-patch+yaml',
    body: asYaml({ ...content, metadata: { ...named, ...preconditions } }),
    what: what('apply', kind, key),
  };
}

export function statusRequest(
  kind: Kind,
  observed: Stored,
  status: Readonly<Record<string, unknown>>,
  { fieldManager }: WriteOptions,
): ApiRequest {
  const key = keyOf(observed);
  const { resourceVersion } = observed.metadata;
  return {
    method: 'PATCH',
    path: objectPath(kind, key, 'status'),
    query: { fieldManager, fieldValidation: 'Strict' },
    contentType: 'application/merge-patch+json',
    body: JSON.stringify({ metadata: { resourceVersion }, status }),
    what: what('patch status of', kind, key),
  };
}

export function deleteRequest(kind: Kind, key: ObjectKey, preconditions: Preconditions): ApiRequest {
  return {
    method: 'DELETE',
    path: objectPath(kind, key),
    contentType: 'application/json',
    body: JSON.stringify({
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      propagationPolicy: 'Background',
      preconditions,
    }),
    what: what('delete', kind, key),
  };
}

export function keyOf({ metadata: { namespace = '', name } }: Pick<KubeObject, 'metadata'>): ObjectKey {
  return { namespace, name };
}

/** The server stores what it answers with. */
export function asStored<T extends KubeObject>(body: unknown): Stored<T> {
  return body as Stored<T>;
}

function what(verb: string, kind: Kind, key: ObjectKey): string {
  return `${verb} ${formatRef({ ...kind, ...key })}`;
}

/**
 * JSON that a YAML 1.1 parser reads as the same text: the server takes an apply only as YAML.
 *
 * Sent as they are, it turns U+0085 (next line) into a space without a word, and refuses DEL, the C1 controls and
 * non-characters. Escaped, all of them arrive; escaped surrogate pairs would not, so nothing else is escaped.
 */
function asYaml(object: unknown): string {
  return JSON.stringify(object).replace(
    /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
