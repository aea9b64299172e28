/** One state of one object. */
export interface Version {
  readonly uid: string;
  readonly resourceVersion: string;
}

const WELL_FORMED = /^[1-9][0-9]*$/;

/**
 * Whether `candidate` is the same as `known`, or older.
 *
 * Resource versions of one resource grow and are comparable since Kubernetes 1.35 (KEP-5504): digits without a
 * leading zero, compared by length, then lexically. Anything else is unknown and never counts as old.
 */
export function isNotNewer(candidate: string, known: string): boolean {
  if (candidate === known) return true;
  if (!WELL_FORMED.test(candidate) || !WELL_FORMED.test(known)) return false;
  if (candidate.length !== known.length) return candidate.length < known.length;
  return candidate < known;
}
