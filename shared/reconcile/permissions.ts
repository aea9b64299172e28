import type { Kind } from '../kube/kind.ts';
import type { Controller } from './controller.ts';

/** One entry of a Role's or ClusterRole's `rules`. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  /** Only these objects. @default all */
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** What the forwarder needs: to list and watch every kind that a controller is for or owns. Nothing else. */
export function forwarderRules(controllers: readonly Controller[]): readonly PolicyRule[] {
  const kinds = controllers.flatMap(({ kind, owns }) => [kind, ...owns]);
  return distinct(kinds).map((kind) => rule(kind, '', ['list', 'watch']));
}

/**
 * What the functions need: to read objects and write their status, and to read, apply and delete their children.
 *
 * An apply that creates needs `create` besides `patch`; `update` on `finalizers` is what
 * OwnerReferencesPermissionEnforcement asks of whoever sets `blockOwnerDeletion`.
 */
export function functionRules(controllers: readonly Controller[]): readonly PolicyRule[] {
  return [
    ...controllers.flatMap(({ kind }) => [
      rule(kind, '', ['get']),
      rule(kind, '/status', ['patch']),
      rule(kind, '/finalizers', ['update']),
    ]),
    ...distinct(controllers.flatMap(({ owns }) => owns)).map((kind) =>
      rule(kind, '', ['get', 'create', 'patch', 'delete']),
    ),
  ];
}

function rule({ group, plural }: Kind, subresource: string, verbs: readonly string[]): PolicyRule {
  return { apiGroups: [group], resources: [`${plural}${subresource}`], verbs };
}

function distinct(kinds: readonly Kind[]): readonly Kind[] {
  return [...new Map(kinds.map((kind) => [`${kind.plural}.${kind.group}`, kind])).values()];
}
