/** How worlds begin. */
import { workItem } from '../support/work-items.ts';
import { type ApiObject, type Budget, KEY, objectBell, type State } from './world.ts';

const NOTHING: Budget = {
  specs: [],
  drifts: 0,
  childDeletes: 0,
  deletes: 0,
  recreates: 0,
  crashes: 0,
  pauses: 0,
  duplicates: 0,
  losses: 0,
  lostReplies: 0,
  hurries: 0,
};

/** A world in which an object was just created and nobody knows yet. */
export function newWorld(budget: Partial<Budget>, workers = 2): State {
  const object: ApiObject = { uid: 'o1', version: 1, generation: 1, spec: 'a', observed: null };
  return {
    micros: 1_000_000,
    object,
    child: null,
    stored: null,
    kept: false,
    broken: null,
    messages: [{ id: 'm0', doorbell: objectBell(object), where: 'waiting' }],
    workers: Array.from({ length: workers }, () => null),
    budget: { ...NOTHING, ...budget },
    uids: 1,
    versions: 1,
    revisions: 0,
    names: 0,
  };
}

/** A world that has come to rest: the child is made, the status written, everything seen. */
export function settledWorld(budget: Partial<Budget>, workers = 2): State {
  const versions = { o1: '3', c2: '2' };
  const child = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'w', uid: 'c2' };
  const item = workItem({
    key: KEY,
    uid: 'o1',
    token: 1_000_000,
    seen: { generation: 1, versions, gone: [] },
    children: [child],
  });
  return {
    ...newWorld(budget, workers),
    micros: 10_000_000,
    object: { uid: 'o1', version: 3, generation: 1, spec: 'a', observed: 1 },
    child: { uid: 'c2', version: 2, spec: 'a', owner: 'o1', token: 0 },
    stored: { item, revision: 1 },
    messages: [],
    uids: 2,
    versions: 3,
    revisions: 1,
  };
}
