/**
 * The API server and its garbage collector, as far as a run depends on them: resourceVersions that grow, generations,
 * writes with preconditions. Every change that the forwarder would forward rings.
 */
import { ring } from './broker.ts';
import type { Without } from './rules.ts';
import { type ApiChild, type ApiObject, childBell, objectBell, type Spec, type State } from './world.ts';

/** Another client changes the spec. */
export function changeSpec(state: State, object: ApiObject, spec: Spec): State {
  const version = state.versions + 1;
  const next = { ...object, version, generation: object.generation + 1, spec };
  return ring({ ...state, versions: version, object: next }, objectBell(next));
}

export function deleteObject(state: State, object: ApiObject): State {
  const version = state.versions + 1;
  return ring({ ...state, versions: version, object: null }, objectBell({ ...object, version }, true));
}

export function recreate(state: State): State {
  const [version, uids] = [state.versions + 1, state.uids + 1];
  const object: ApiObject = { uid: `o${uids}`, version, generation: 1, spec: 'a', observed: null };
  return ring({ ...state, uids, versions: version, object }, objectBell(object));
}

/** Another client edits the child. */
export function drift(state: State, child: ApiChild): State {
  return putChild(state, { ...child, spec: 'foreign', token: 0 });
}

/** Another client, the garbage collector or a run deletes the child. */
export function removeChild(state: State, child: ApiChild): State {
  const version = state.versions + 1;
  return ring({ ...state, versions: version, child: null }, childBell(state.object, { ...child, version }));
}

/** An apply that creates; undefined when somebody has made the child meanwhile. */
export function applyNew(state: State, owner: ApiObject, token: number, without: Without): State | undefined {
  const { child } = state;
  const { uid: ownerUid, spec } = owner;
  if (child !== null) {
    if (!without.has('no create of what exists')) return undefined;
    return putChild(judged(state, child, token), { ...child, spec, owner: ownerUid, token });
  }
  const uids = state.uids + 1;
  const made = { uid: `c${uids}`, version: 0, spec, owner: ownerUid, token: told(token, without) };
  return putChild({ ...state, uids }, made);
}

/** An apply of what was observed; undefined when the child moved meanwhile. */
export function applyObserved(
  state: State,
  observed: ApiChild,
  spec: Spec,
  token: number,
  without: Without,
): State | undefined {
  const { child } = state;
  if (child === null || child.uid !== observed.uid) return undefined;
  const hasMoved = child.version !== observed.version;
  if (hasMoved && !without.has('resourceVersion in child')) return undefined;
  return putChild(hasMoved ? judged(state, child, token) : state, { ...child, spec, token: told(token, without) });
}

/** The state after a write of the child that names nothing of what was observed. */
function judged(state: State, child: ApiChild, token: number): State {
  return child.token > token ? { ...state, broken: 'I2: no write of an older token overwrites one of a newer' } : state;
}

/** The token is kept only where a precondition is missing, so that it makes no state different that need not be. */
function told(token: number, without: Without): number {
  return without.has('resourceVersion in child') || without.has('no create of what exists') ? token : 0;
}

/** A status patch on what was observed; undefined when the object moved meanwhile, or is gone. */
export function writeStatus(state: State, observed: ApiObject, without: Without): State | undefined {
  const { object } = state;
  if (object === null || object.uid !== observed.uid) return undefined;
  if (object.version !== observed.version && !without.has('resourceVersion in status')) return undefined;
  const version = state.versions + 1;
  // The forwarder drops it: neither the generation nor the metadata moved.
  return { ...state, versions: version, object: { ...object, version, observed: observed.generation } };
}

function putChild(state: State, child: ApiChild): State {
  const version = state.versions + 1;
  const next = { ...child, version };
  return ring({ ...state, versions: version, child: next }, childBell(state.object, next));
}
