import { TerminalError } from '../errors.ts';
import type { ObjectRef } from '../kube/key.ts';
import { formatKey, formatRef } from '../kube/key.ts';
import { apiVersionOf, groupOf, type Kind } from '../kube/kind.ts';
import type { KubeObject, OwnerReference, Stored } from '../kube/object.ts';
import type { Controller, DesiredChild } from './controller.ts';

/** A child as it should be, ready to be applied. */
export interface Desired {
  readonly ref: ObjectRef;
  readonly kind: Kind;
  readonly object: KubeObject;
}

/**
 * The plan's children in the form they are applied in: with namespace and owner reference, in canonical spelling.
 *
 * Refuses what Kubernetes would punish later: an owner in another namespace makes the garbage collector delete the
 * child at once, a cluster-scoped child of a namespaced owner is never collected.
 *
 * @throws {TerminalError} codes KIND_NOT_OWNED, CROSS_NAMESPACE_CHILD, CLUSTER_SCOPED_CHILD, NAMESPACED_CLUSTER_CHILD, DUPLICATE_CHILD
 */
export function desiredChildren(
  controller: Controller,
  owner: Stored,
  children: readonly DesiredChild[],
): readonly Desired[] {
  const desired = children.map((child) => desiredChild(controller, owner, child));
  const seen = new Set<string>();
  for (const { ref } of desired) {
    const name = formatRef(ref);
    if (seen.has(name)) throw new TerminalError('DUPLICATE_CHILD', `the plan names ${name} twice`);
    seen.add(name);
  }
  return desired;
}

function desiredChild(controller: Controller, owner: Stored, child: DesiredChild): Desired {
  const kind = controller.owns.find((k) => k.kind === child.kind && apiVersionOf(k) === child.apiVersion);
  const label = `${child.kind} ${child.metadata.name}`;
  if (kind === undefined) {
    throw new TerminalError(
      'KIND_NOT_OWNED',
      `the plan returns ${label} (${child.apiVersion}), but controller ${controller.name} does not own that kind`,
    );
  }
  const namespace = namespaceOf(kind, owner, child, label);
  const { status: _, ...content } = canonical(child);
  const { name, labels, annotations, finalizers, ownerReferences = [] } = child.metadata;
  const object: KubeObject = {
    ...content,
    // What the server owns (uid, resourceVersion, managedFields, …) is left behind, so an observed child may be
    // returned as the desired one.
    metadata: {
      name,
      ...(namespace === '' ? {} : { namespace }),
      ...(labels === undefined ? {} : { labels }),
      ...(annotations === undefined ? {} : { annotations }),
      ...(finalizers === undefined ? {} : { finalizers }),
      ownerReferences: [
        ownerReference(controller.kind, owner),
        ...ownerReferences.filter((other) => other.uid !== owner.metadata.uid),
      ],
    },
  };
  return { ref: { group: kind.group, kind: kind.kind, namespace, name: child.metadata.name }, kind, object };
}

function namespaceOf(kind: Kind, owner: Stored, child: DesiredChild, label: string): string {
  const ownerNamespace = owner.metadata.namespace ?? '';
  const childNamespace = child.metadata.namespace;
  if (!kind.namespaced) {
    if (childNamespace !== undefined) {
      throw new TerminalError('NAMESPACED_CLUSTER_CHILD', `${label} is cluster-scoped but names a namespace`);
    }
    if (ownerNamespace !== '') {
      throw new TerminalError(
        'CLUSTER_SCOPED_CHILD',
        `${label} is cluster-scoped and its owner ${formatKey({ namespace: ownerNamespace, name: owner.metadata.name })} is not: it would never be collected`,
      );
    }
    return '';
  }
  const namespace = childNamespace ?? ownerNamespace;
  if (namespace === '') throw new TerminalError('CROSS_NAMESPACE_CHILD', `${label} needs a namespace`);
  if (ownerNamespace !== '' && namespace !== ownerNamespace) {
    throw new TerminalError(
      'CROSS_NAMESPACE_CHILD',
      `${label} is in namespace ${namespace} and its owner in ${ownerNamespace}: the garbage collector would delete it at once`,
    );
  }
  return namespace;
}

function ownerReference(kind: Kind, owner: Stored): OwnerReference {
  return {
    apiVersion: apiVersionOf(kind),
    kind: kind.kind,
    name: owner.metadata.name,
    uid: owner.metadata.uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** A Secret's `stringData` as `data`: the server would own it as `stringData` and keep keys that were dropped. */
function canonical(child: DesiredChild): DesiredChild {
  const { stringData, ...rest } = child;
  if (child.kind !== 'Secret' || groupOf(child.apiVersion) !== '' || stringData === undefined) return child;
  const encoded = Object.entries(stringData as Readonly<Record<string, string>>).map(([key, text]) => [
    key,
    Buffer.from(text, 'utf8').toString('base64'),
  ]);
  return { ...rest, data: { ...(rest['data'] as object | undefined), ...Object.fromEntries(encoded) } } as DesiredChild;
}
