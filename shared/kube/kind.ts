import type { KubeObject } from './object.ts';

/** Identifies a kind in any version: what Kubernetes calls a GroupKind. The core group is `''`. */
export interface GroupKind {
  readonly group: string;
  readonly kind: string;
}

/**
 * A kind as it is served: GroupVersionKind, the plural that stands in URLs, and the scope.
 *
 * `T` is the type of its objects; it exists only for the compiler.
 */
export interface Kind<T extends KubeObject = KubeObject> extends GroupKind {
  readonly version: string;
  readonly plural: string;
  readonly namespaced: boolean;
  readonly objectType?: T;
}

/** `apps/v1`, or `v1` for the core group. */
export function apiVersionOf(kind: Kind): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}

/** The group of an `apiVersion`: `apps` for `apps/v1`, `''` for `v1`. */
export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf('/');
  return slash === -1 ? '' : apiVersion.slice(0, slash);
}

/** `Deployment.apps`, or `Service` for the core group: the way kubectl names a kind. */
export function formatGroupKind({ group, kind }: GroupKind): string {
  return group === '' ? kind : `${kind}.${group}`;
}

/** The type of a kind's objects: `ObjectOf<typeof Deployment>`. */
export type ObjectOf<K extends Kind> = NonNullable<K['objectType']>;
