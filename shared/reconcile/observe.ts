import { formatRef, type ObjectRef } from '../kube/key.ts';
import type { Stored } from '../kube/object.ts';
import type { ClusterSession } from '../ports/cluster.ts';
import type { ChildRecord } from '../queue/work-item.ts';
import type { ObservedChild } from './changes.ts';
import type { Controller } from './controller.ts';

/** One object and its children as they are now. */
export interface Observation {
  readonly object: Stored;
  readonly children: readonly ObservedChild[];
}

/**
 * Reads the object and the children that its inventory names, all at once; undefined when the object is gone.
 *
 * By name, not by label: a LIST would cost the API server a scan of the namespace at every run, and a run must not
 * grow dearer with the number of objects around.
 */
export async function observe(
  cluster: ClusterSession,
  controller: Controller,
  key: ObjectRef,
  inventory: readonly ChildRecord[],
  signal: AbortSignal,
): Promise<Observation | undefined> {
  const [object, children] = await Promise.all([
    cluster.get(controller.kind, key, signal),
    observeChildren(cluster, controller, inventory, signal),
  ]);
  return object === undefined ? undefined : { object, children };
}

/** Reads what `wanted` names and `observation` does not know yet: children that a plan asks for the first time. */
export async function observeMore(
  cluster: ClusterSession,
  controller: Controller,
  observation: Observation,
  wanted: readonly ObjectRef[],
  signal: AbortSignal,
): Promise<Observation> {
  const known = new Set(observation.children.map(({ ref }) => formatRef(ref)));
  const unknown = wanted.filter((ref) => !known.has(formatRef(ref)));
  if (unknown.length === 0) return observation;
  const found = await observeChildren(cluster, controller, unknown, signal);
  return { object: observation.object, children: [...observation.children, ...found] };
}

/** The observation after `object` was written (or, undefined, deleted) as the child `ref`. */
export function withChild(observation: Observation, ref: ObjectRef, object: Stored | undefined): Observation {
  const name = formatRef(ref);
  const others = observation.children.filter((child) => formatRef(child.ref) !== name);
  return { object: observation.object, children: [...others, { ref, object }] };
}

function observeChildren(
  cluster: ClusterSession,
  controller: Controller,
  refs: readonly ObjectRef[],
  signal: AbortSignal,
): Promise<readonly ObservedChild[]> {
  return Promise.all(
    refs.flatMap(({ group, kind, namespace, name }) => {
      const owned = controller.owns.find((k) => k.group === group && k.kind === kind);
      // A kind that the controller no longer owns may not even be served any more; its objects stay as they are.
      if (owned === undefined) return [];
      const ref: ObjectRef = { group, kind, namespace, name };
      return [cluster.get(owned, ref, signal).then((object) => ({ ref, object }))];
    }),
  );
}
