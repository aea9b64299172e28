/**
 * The API server and its garbage collector, as far as a run depends on them: resourceVersions that grow, generations,
 * writes with preconditions. Every change that the forwarder would forward rings.
 */
import { ring } from './broker.ts';
import type { Without } from './rules.ts';
import {
  type ApiChild,
  type ApiObject,
  childBell,
  objectBell,
  placeOf,
  type Spec,
  type State,
  withPlace,
} from './world.ts';

/** Another client changes the spec. */
export function changeSpec(state: State, at: number, object: ApiObject, spec: Spec): State {
  const versions = placeOf(state, at).versions + 1;
  const next = { ...object, version: versions, generation: object.generation + 1, spec };
  return ring(withPlace(state, at, { versions, object: next }), at, objectBell(next));
}

export function deleteObject(state: State, at: number, object: ApiObject): State {
  const versions = placeOf(state, at).versions + 1;
  const bell = objectBell({ ...object, version: versions }, true);
  return ring(withPlace(state, at, { versions, object: null }), at, bell);
}

export function recreate(state: State, at: number): State {
  const place = placeOf(state, at);
  const [versions, uids] = [place.versions + 1, place.uids + 1];
  const object: ApiObject = { uid: `o${uids}`, version: versions, generation: 1, spec: 'a', observed: null };
  return ring(withPlace(state, at, { uids, versions, object }), at, objectBell(object));
}

/** Another client edits the child. */
export function drift(state: State, at: number, child: ApiChild): State {
  return putChild(state, at, { ...child, spec: 'foreign', token: 0 });
}

/** Another client, the garbage collector or a run deletes the child. */
export function removeChild(state: State, at: number, child: ApiChild): State {
  const { versions, object } = placeOf(state, at);
  const bell = childBell(object, { ...child, version: versions + 1 });
  return ring(withPlace(state, at, { versions: versions + 1, child: null }), at, bell);
}

/** Who writes, and what it does not name of what it observed. */
interface Writer {
  readonly token: number;
  readonly without: Without;
}

/** An apply that creates; undefined when somebody has made the child meanwhile. */
export function applyNew(
  state: State,
  at: number,
  { uid: owner, spec }: ApiObject,
  { token, without }: Writer,
): State | undefined {
  const { child, uids: before } = placeOf(state, at);
  if (child !== null) {
    if (!without.has('no create of what exists')) return undefined;
    return putChild(judged(state, child, token), at, { ...child, spec, owner, token });
  }
  const uids = before + 1;
  const made = { uid: `c${uids}`, version: 0, spec, owner, token: told(token, without) };
  return putChild(withPlace(state, at, { uids }), at, made);
}

/** An apply of what was observed; undefined when the child moved meanwhile. */
export function applyObserved(
  state: State,
  at: number,
  observed: ApiChild,
  { spec, token, without }: Writer & { readonly spec: Spec },
): State | undefined {
  const { child } = placeOf(state, at);
  if (child === null || child.uid !== observed.uid) return undefined;
  const hasMoved = child.version !== observed.version;
  if (hasMoved && !without.has('resourceVersion in child')) return undefined;
  const judgedState = hasMoved ? judged(state, child, token) : state;
  return putChild(judgedState, at, { ...child, spec, token: told(token, without) });
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
export function writeStatus(state: State, at: number, observed: ApiObject, without: Without): State | undefined {
  const { object, versions: before } = placeOf(state, at);
  if (object === null || object.uid !== observed.uid) return undefined;
  if (object.version !== observed.version && !without.has('resourceVersion in status')) return undefined;
  const versions = before + 1;
  // The forwarder drops it: neither the generation nor the metadata moved.
  return withPlace(state, at, { versions, object: { ...object, version: versions, observed: observed.generation } });
}

function putChild(state: State, at: number, child: ApiChild): State {
  const { versions: before, object } = placeOf(state, at);
  const versions = before + 1;
  const next = { ...child, version: versions };
  return ring(withPlace(state, at, { versions, child: next }), at, childBell(object, next));
}
