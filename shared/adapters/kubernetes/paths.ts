import { TerminalError } from '../../errors.ts';
import type { ObjectKey } from '../../kube/key.ts';
import { formatGroupKind, type Kind } from '../../kube/kind.ts';

/**
 * The path of one object.
 *
 * Refuses a name that would turn it into the path of something else: with an empty one, a read would list and a
 * delete would clear the whole collection.
 *
 * @throws {TerminalError} `INVALID_KEY`
 */
export function objectPath(kind: Kind, { namespace, name }: ObjectKey, subresource?: 'status'): string {
  if (kind.namespaced !== (namespace !== '')) {
    const scope = kind.namespaced ? 'needs a namespace' : `is not in a namespace, but '${namespace}' was given`;
    throw new TerminalError('INVALID_KEY', `cannot address '${name}': ${formatGroupKind(kind)} ${scope}`);
  }
  const collection = collectionPath(kind, namespace);
  return `${collection}/${segment(name)}${subresource === undefined ? '' : `/${subresource}`}`;
}

/** The path of all objects of a kind; of one namespace, or by default of the cluster. */
export function collectionPath(kind: Kind, namespace = ''): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  return `${root}${namespace === '' ? '' : `/namespaces/${segment(namespace)}`}/${kind.plural}`;
}

function segment(name: string): string {
  if (name === '' || name === '.' || name === '..') {
    throw new TerminalError('INVALID_KEY', `cannot address an object: '${name}' is not a name`);
  }
  return encodeURIComponent(name);
}
