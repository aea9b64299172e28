import { formatGroupKind, type GroupKind } from './kind.ts';

/** Names one object of a known kind. `namespace` is `''` for cluster-scoped objects. */
export interface ObjectKey {
  readonly namespace: string;
  readonly name: string;
}

/** Names one object of any kind in one cluster. */
export interface ObjectRef extends GroupKind, ObjectKey {}

/** `default/web`, or `web` for cluster-scoped objects. */
export function formatKey({ namespace, name }: ObjectKey): string {
  return namespace === '' ? name : `${namespace}/${name}`;
}

/** `Deployment.apps default/web`: unique within a cluster. */
export function formatRef(ref: ObjectRef): string {
  return `${formatGroupKind(ref)} ${formatKey(ref)}`;
}
