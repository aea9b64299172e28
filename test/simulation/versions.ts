/** The resourceVersions that occur in a state, by their ranks: nothing depends on more than their order. */
import type { Version } from '../../shared/kube/version.ts';
import type { WorkItem } from '../../shared/queue/work-item.ts';
import type { State } from './world.ts';

/** Of one object and its children. */
export class Versions {
  /** For each uid, by its number, the versions as bits; all in one when there is one order for all. */
  readonly #bits = new Int32Array(MAX_UIDS);
  readonly #oneOrder: boolean;

  constructor({ places, messages, workers }: State, at: number, oneOrder: boolean) {
    this.#oneOrder = oneOrder;
    const place = places[at];
    if (place?.object) this.#add(place.object.uid, place.object.version);
    if (place?.child) this.#add(place.child.uid, place.child.version);
    if (place?.stored) this.#addItem(place.stored.item);
    for (const { at: its, doorbell } of messages) {
      if (its === at && 'versions' in doorbell.news) this.#addAll(doorbell.news.versions);
    }
    for (const worker of workers) {
      if (worker?.at !== at || !('claim' in worker.phase)) continue;
      const { claim, observed } = worker.phase;
      this.#addItem(claim.item);
      if (observed.object) this.#add(observed.object.uid, observed.object.version);
      if (observed.child) this.#add(observed.child.uid, observed.child.version);
    }
  }

  /** Another number for each version of each object, 2^5 for each uid before it: sums of them tell sets apart. */
  of(uid: string, version: number): number {
    const bits = this.#bits[this.#orderOf(uid)] ?? 0;
    return (ones(bits & ((1 << version) - 1)) + 1) * 32 ** numberOf(uid);
  }

  #add(uid: string, version: number): void {
    if (version >= 31) throw new Error(`${uid}@${version}: these worlds are too short for so many versions`);
    const order = this.#orderOf(uid);
    this.#bits[order] = (this.#bits[order] ?? 0) | (1 << version);
  }

  #addAll(versions: readonly Version[]): void {
    for (const { uid, resourceVersion } of versions) this.#add(uid, Number(resourceVersion));
  }

  #addItem({ seen, dirty }: WorkItem): void {
    for (const uid of Object.keys(seen.versions)) this.#add(uid, Number(seen.versions[uid]));
    if (dirty.kind === 'versions') this.#addAll(dirty.versions);
  }

  #orderOf(uid: string): number {
    return this.#oneOrder ? 0 : numberOf(uid);
  }
}

/** So that the sum of the numbers of all their versions is exact. */
const MAX_UIDS = 10;

/** `c2` is number 2. */
function numberOf(uid: string): number {
  const number = uid.charCodeAt(1) - 48;
  if (uid.length !== 2 || number >= MAX_UIDS) throw new Error(`${uid}: these worlds are too short for so many objects`);
  return number;
}

function ones(bits: number): number {
  let left = bits - ((bits >>> 1) & 0x55555555);
  left = (left & 0x33333333) + ((left >>> 2) & 0x33333333);
  return Math.imul((left + (left >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
