/** The objects of the random worlds, what their operator makes of them, and whether all is as it should be. */
import type { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { TerminalError } from '../../shared/errors.ts';
import { isTrue } from '../../shared/kube/conditions.ts';
import type { Stored } from '../../shared/kube/object.ts';
import type { WorkStore } from '../../shared/ports/work-store.ts';
import type { ItemKey } from '../../shared/queue/work-item.ts';
import { type Controller, plan } from '../../shared/reconcile/controller.ts';
import { configMap, Widget, type WidgetObject, widgetController } from '../support/objects.ts';

export const NAMES = ['w0', 'w1', 'w2'] as const;
export type Name = (typeof NAMES)[number];

/** The children of a Widget by its size; nobody can make one of size 3. */
const CHILDREN: readonly (readonly string[])[] = [[], ['a', 'b'], ['a', 'c']];
export const INVALID_SIZE = 3;

export const controller: Controller = widgetController(({ object }) => {
  const { size } = object.spec;
  const children = CHILDREN[size];
  if (children === undefined) throw new TerminalError('INVALID_SIZE', `a Widget cannot be of size ${size}`);
  return plan({
    children: children.map((child) => configMap(`${object.metadata.name}-${child}`, { size: String(size) })),
    conditions: [{ type: 'Ready', status: 'True', reason: 'Made', message: `size ${size}` }],
  });
});

export function widgetOf(cluster: MemoryCluster, name: Name): Stored<WidgetObject> | undefined {
  const found = cluster.objects().find(({ kind, metadata }) => kind === Widget.kind && metadata.name === name);
  return found as Stored<WidgetObject> | undefined;
}

/** What is not as it should be when the world has come to rest. */
export async function problemWith(name: Name, cluster: MemoryCluster, store: WorkStore): Promise<string | undefined> {
  const { group, kind } = Widget;
  const key: ItemKey = { cluster: 'local', controller: controller.name, group, kind, namespace: 'default', name };
  const { item } = await store.read(key, new AbortController().signal);
  const widget = widgetOf(cluster, name);
  const made = cluster.objects().filter((o) => o.kind === 'ConfigMap' && o.metadata.name.startsWith(`${name}-`));
  if (widget === undefined) {
    if (made.length > 0) return `${name} is gone, and its children are left: no orphan child`;
    return item === undefined ? undefined : `${name} is gone, its item is not: no lost delete`;
  }
  if (item === undefined) return `nobody has looked at ${name}: I1`;
  if (item.lease !== null || item.dirty.kind !== 'clean' || item.alarm !== null) {
    return `the item of ${name} is not idle`;
  }
  const { metadata, spec, status } = widget;
  const conditions = status?.['conditions'] as Parameters<typeof isTrue>[0];
  if (spec.size === INVALID_SIZE) {
    const isTold = isTrue(conditions, 'Stalled', metadata.generation);
    return item.quarantine !== null && isTold ? undefined : `${name} is invalid, and is not told so: R13`;
  }
  if (!isTrue(conditions, 'Ready', metadata.generation)) return `${name} is not Ready in its last generation: I1`;
  const want = (CHILDREN[spec.size] ?? []).map((child) => `${name}-${child}=${spec.size} of ${metadata.uid}`);
  const have = made.map(({ metadata: child, data }) => {
    const { size } = data as { readonly size?: string };
    return `${child.name}=${size} of ${child.ownerReferences?.[0]?.uid}`;
  });
  return have.toSorted().join() === want.join() ? undefined : `${name} has ${have}, and wants ${want}: I4`;
}
