/** What a run does next, and what it reports at its end: the model of `shared/reconcile`. Pure. */
import type { Stored } from '../../shared/kube/object.ts';
import type { Ending, RunReport } from '../../shared/queue/complete.ts';
import type { ChildRecord, WorkItem } from '../../shared/queue/work-item.ts';
import type { Observation } from '../../shared/reconcile/observe.ts';
import { inventoryOf, seenOf } from '../../shared/reconcile/seen.ts';
import type { Without } from './rules.ts';
import type { ApiChild, ApiObject, Claim, Observed, Spec } from './world.ts';

export type Action =
  | { readonly kind: 'read'; readonly what: readonly ('object' | 'child')[] }
  | { readonly kind: 'intend' }
  | { readonly kind: 'create'; readonly owner: ApiObject }
  | { readonly kind: 'configure'; readonly child: ApiChild; readonly spec: Spec }
  | { readonly kind: 'delete'; readonly child: ApiChild }
  | { readonly kind: 'status'; readonly object: ApiObject }
  | { readonly kind: 'end'; readonly ending: Ending };

export const CHILD: ChildRecord = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'w', uid: null };

/** What follows from what was observed. Children are written before the status, and a write is observed by itself. */
export function actionOf(item: WorkItem, { object, child }: Observed, without: Without): Action {
  const isKnown = item.children.length > 0;
  if (object === undefined) {
    // A child that the inventory names is read together with the object: in either order.
    return { kind: 'read', what: isKnown && child === undefined ? ['object', 'child'] : ['object'] };
  }
  if (child === undefined && (isKnown || (object !== null && object.spec !== 'none'))) {
    return { kind: 'read', what: ['child'] };
  }
  if (object === null) return { kind: 'end', ending: { kind: 'gone' } };
  if (object.spec === 'none') {
    if (child?.owner === object.uid) return { kind: 'delete', child };
  } else if (child === null || child === undefined) {
    return isKnown || without.has('intent before create') ? { kind: 'create', owner: object } : { kind: 'intend' };
  } else if (child.owner !== object.uid) {
    const error = { code: 'CHILD_NOT_OWNED', message: '' };
    return { kind: 'end', ending: { kind: 'failed', error, retry: { kind: 'backoff' }, attempts: 1 } };
  } else if (child.spec !== object.spec) {
    return { kind: 'configure', child, spec: object.spec };
  }
  if (object.observed !== object.generation) return { kind: 'status', object };
  return { kind: 'end', ending: { kind: 'settled' } };
}

/** What the run tells the work queue. Only what a plan has taken into account counts as seen. */
export function reportOf(
  { claim, observed, ending }: { readonly claim: Claim; readonly observed: Observed; readonly ending: Ending },
  without: Without,
): RunReport {
  const { item } = claim;
  const { object, child } = observed;
  const summary = { at: 0, durationMs: 0, trigger: '', writes: [], outcome: ending.kind };
  const told = {
    uid: object?.uid ?? item.uid,
    generation: object?.generation ?? null,
    ending,
    summary,
  };
  if (object === null || object === undefined || ending.kind !== 'settled') {
    return { ...told, seen: item.seen, children: item.children };
  }
  const observation = observationOf(object, child ?? null);
  const seen = seenOf(observation, item.children, item.seen);
  const versions = without.has('seen per object') ? oneMaximum(seen.versions) : seen.versions;
  return { ...told, seen: { ...seen, versions }, children: inventoryOf(observation) };
}

/** What `seen` would be as one maximum: the newest version of all stands for each. */
export function oneMaximum(versions: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const newest = Math.max(0, ...Object.values(versions).map(Number));
  return Object.fromEntries(Object.keys(versions).map((uid) => [uid, String(newest)]));
}

function observationOf(object: ApiObject, child: ApiChild | null): Observation {
  const ref = { group: CHILD.group, kind: CHILD.kind, namespace: CHILD.namespace, name: CHILD.name };
  return {
    object: stored('Widget', object, object.generation),
    children: [{ ref, object: child === null ? undefined : stored('ConfigMap', child) }],
  };
}

function stored(
  kind: string,
  { uid, version }: { readonly uid: string; readonly version: number },
  generation?: number,
): Stored {
  const metadata = { name: 'w', namespace: 'default', uid, resourceVersion: String(version) };
  return { apiVersion: 'v1', kind, metadata: generation === undefined ? metadata : { ...metadata, generation } };
}
