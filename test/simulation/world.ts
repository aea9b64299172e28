/**
 * The small world of the exhaustive simulator: an object or two, each with a child and a work item, a broker, two
 * workers, and budgets for everything that may happen to them. States are plain values that are never changed in place, so that a
 * step is cheap and two states can be compared.
 *
 * The item and all that decides about it are the product's own (`shared/queue`); the API server, the store and the
 * broker are models of the few guarantees that the product relies on.
 */
import type { Doorbell } from '../../shared/message/doorbell.ts';
import type { Ending } from '../../shared/queue/complete.ts';
import type { LeasedItem } from '../../shared/queue/lease.ts';
import type { ItemKey, Lease, WorkItem } from '../../shared/queue/work-item.ts';

/** What the object wants, and what its child is. `none` wants no child; nobody wants `foreign`. */
export type Spec = 'a' | 'b' | 'none' | 'foreign';

export interface ApiObject {
  readonly uid: string;
  readonly version: number;
  readonly generation: number;
  readonly spec: Spec;
  /** `status.observedGeneration`. */
  readonly observed: number | null;
}

export interface ApiChild {
  readonly uid: string;
  readonly version: number;
  readonly spec: Spec;
  readonly owner: string;
  /** Not in any API server: under which token it was written last, 0 for others' writes. For the properties only. */
  readonly token: number;
}

export interface Message {
  readonly id: string;
  /** About which object. */
  readonly at: number;
  readonly doorbell: Doorbell;
  /** `settled` is kept only while the world may still deliver it once more. */
  readonly where: 'waiting' | 'out' | 'settled';
}

export interface Reading {
  readonly item: WorkItem | undefined;
  readonly revision: number | undefined;
}

export interface Claim {
  readonly item: LeasedItem;
  readonly revision: number;
}

/** Null: there is none. Undefined: not read yet. */
export interface Observed {
  readonly object: ApiObject | null | undefined;
  readonly child: ApiChild | null | undefined;
}

export type Phase =
  /** About to swap what `answer` decided. */
  | { readonly kind: 'answering'; readonly aim: 'claim' | 'dirty'; readonly item: WorkItem; readonly read: Reading }
  /** observe → intend → write the child → write the status: what is next follows from what it has observed. */
  | { readonly kind: 'running'; readonly claim: Claim; readonly observed: Observed }
  | {
      readonly kind: 'completing';
      readonly claim: Claim;
      readonly held: Lease;
      readonly observed: Observed;
      readonly ending: Ending;
      readonly read: Reading;
    }
  /** About to publish for news that it has no time for. */
  | { readonly kind: 'ringing' };

export interface Worker {
  /** Of this attempt alone. */
  readonly id: string;
  readonly messageId: string;
  /** For which object. */
  readonly at: number;
  /** It slept past the end of its lease and does not know. */
  readonly overslept: boolean;
  readonly phase: Phase;
}

/** How often each thing may still happen. */
export interface Budget {
  /** The specs that a user will ask for, in this order. */
  readonly specs: readonly Spec[];
  /** Somebody edits the child. */
  readonly drifts: number;
  /** Somebody deletes the child. */
  readonly childDeletes: number;
  readonly deletes: number;
  readonly recreates: number;
  /** A worker dies; its message comes again. */
  readonly crashes: number;
  /** A worker sleeps past the end of its lease. */
  readonly pauses: number;
  /** The broker delivers a message once more: one that is being worked on, or one that was acknowledged. */
  readonly duplicates: number;
  /** The message of a worker that dies is lost with it, or what a worker publishes is lost. */
  readonly losses: number;
  /** A write is stored, and its reply is lost. */
  readonly lostReplies: number;
  /** A run ends without time for another one. */
  readonly hurries: number;
  /** The API server refuses a write of the child, and the run fails. */
  readonly refusals: number;
}

/** One object with all that belongs to it. */
export interface Place {
  readonly object: ApiObject | null;
  readonly child: ApiChild | null;
  readonly stored: { readonly item: WorkItem; readonly revision: number } | null;
  /** Counters, so that every name is new: uids, resourceVersions, revisions. */
  readonly uids: number;
  readonly versions: number;
  readonly revisions: number;
}

export interface State {
  /** The store's time in microseconds. */
  readonly micros: number;
  readonly places: readonly Place[];
  /** The first object cannot be applied, ever, and its backoff does not end: nobody waits for it. */
  readonly isFirstIll: boolean;
  /** A swap that compared with the stored revision left it as it was; see `swap`. */
  readonly kept: boolean;
  /** The property that the last step has violated. */
  readonly broken: string | null;
  readonly messages: readonly Message[];
  readonly workers: readonly (Worker | null)[];
  readonly budget: Budget;
  /** A counter, so that messages and attempts have new names. */
  readonly names: number;
}

export const KEY: ItemKey = {
  cluster: 'local',
  controller: 'widget',
  group: 'test.driftless.dev',
  kind: 'Widget',
  namespace: 'default',
  name: 'w',
};

export function placeOf({ places }: State, at: number): Place {
  const place = places[at];
  if (place === undefined) throw new Error(`there is no object ${at + 1}`);
  return place;
}

export function withPlace(state: State, at: number, change: Partial<Place>): State {
  return { ...state, places: state.places.with(at, { ...placeOf(state, at), ...change }) };
}

export function objectBell(object: ApiObject, deleted = false): Doorbell {
  const { uid, generation, version } = object;
  return {
    key: KEY,
    news: { kind: 'versions', versions: [{ uid, resourceVersion: String(version) }] },
    uid,
    generation,
    ...(deleted ? { deleted } : {}),
    trigger: 'object',
  };
}

/** What the forwarder tells of a child: nothing when it does not know the owner (any more). */
export function childBell(owner: ApiObject | null, child: ApiChild): Doorbell | undefined {
  if (owner === null || owner.uid !== child.owner) return undefined;
  return {
    key: KEY,
    news: { kind: 'versions', versions: [{ uid: child.uid, resourceVersion: String(child.version) }] },
    uid: owner.uid,
    generation: owner.generation,
    trigger: 'child',
  };
}
