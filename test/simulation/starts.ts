/** How worlds begin. */
import { workItem } from '../support/work-items.ts';
import { type ApiObject, type Budget, KEY, type Message, objectBell, type Place, type State } from './world.ts';

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
  refusals: 0,
};

/** More than any worker's clock is slow. */
const START_MICROS = 3_600_000_000;

/** A world in which the objects were just created and nobody knows yet. */
export function newWorld(budget: Partial<Budget>, objects = 1): State {
  const object: ApiObject = { uid: 'o1', version: 1, generation: 1, spec: 'a', observed: null };
  const place: Place = { object, child: null, stored: null, uids: 1, versions: 1, revisions: 0 };
  const messages = Array.from({ length: objects }, (_, at) => bell(`m${at}`, at, object));
  return { ...emptyWorld(budget), places: Array.from({ length: objects }, () => place), messages, names: objects };
}

/** A world that has come to rest: the children are made, the statuses written, everything seen. */
export function settledWorld(budget: Partial<Budget>, objects = 1): State {
  const versions = { o1: '3', c2: '2' };
  const record = { group: '', kind: 'ConfigMap', namespace: 'default', name: 'w', uid: 'c2' };
  const item = workItem({
    key: KEY,
    uid: 'o1',
    token: 1_000_000,
    seen: { generation: 1, versions, gone: [] },
    children: [record],
  });
  const place: Place = {
    object: { uid: 'o1', version: 3, generation: 1, spec: 'a', observed: 1 },
    child: { uid: 'c2', version: 2, spec: 'a', owner: 'o1', token: 0 },
    stored: { item, revision: 1 },
    uids: 2,
    versions: 3,
    revisions: 1,
  };
  return { ...emptyWorld(budget), places: Array.from({ length: objects }, () => place) };
}

function emptyWorld(budget: Partial<Budget>): State {
  return {
    micros: START_MICROS,
    places: [],
    isFirstIll: false,
    kept: false,
    broken: null,
    messages: [],
    workers: [null, null],
    budget: { ...NOTHING, ...budget },
    names: 0,
  };
}

function bell(id: string, at: number, object: ApiObject): Message {
  return { id, at, doorbell: objectBell(object), where: 'waiting' };
}
