import { isNotNewer, type Version } from '../kube/version.ts';
import type { News } from '../message/doorbell.ts';
import { isUnseen, missesChild } from './news.ts';
import type { Dirty, Seen, WorkItem } from './work-item.ts';

export const CLEAN: Dirty = { kind: 'clean' };

const UNKNOWN: Dirty = { kind: 'unknown' };

/** More than this is remembered as "something". */
const MAX_DIRTY_VERSIONS = 16;

/** The item's dirt with this news added; the very same value when it says so already. */
export function soil(item: WorkItem, news: News): Dirty {
  const { dirty } = item;
  if (dirty.kind === 'unknown') return dirty;
  switch (news.kind) {
    case 'census':
      // An absence has no version that a run could strike out.
      if (missesChild(item, news.versions)) return UNKNOWN;
      return withVersions(dirty, item.seen, news.versions);
    case 'versions':
      return withVersions(dirty, item.seen, news.versions);
    case 'unknown':
      return UNKNOWN;
    case 'alarm':
      return dirty; // The alarm of a held item is the end of its lease: there is nothing to tell the holder.
  }
}

/** The dirt that is left after a run that took `seen` into account: without its own echoes and what it has read. */
export function strike(dirty: Dirty, seen: Seen): Dirty {
  if (dirty.kind !== 'versions') return dirty;
  const versions = dirty.versions.filter((version) => isUnseen(seen, version));
  return versions.length === 0 ? CLEAN : { kind: 'versions', versions };
}

function withVersions(dirty: Exclude<Dirty, { kind: 'unknown' }>, seen: Seen, arrived: readonly Version[]): Dirty {
  const known = dirty.kind === 'versions' ? dirty.versions : [];
  const added = arrived
    .filter((version) => isUnseen(seen, version) && !known.some((k) => covers(k, version)))
    .map(({ uid, resourceVersion }) => ({ uid, resourceVersion })); // What it is called is the inventory's matter.
  if (added.length === 0) return dirty;
  const versions = [...known.filter((k) => !added.some((version) => covers(version, k))), ...added];
  return versions.length > MAX_DIRTY_VERSIONS ? UNKNOWN : { kind: 'versions', versions };
}

/** Whether a run that has seen `a` has seen `b` too. */
function covers(a: Version, b: Version): boolean {
  return a.uid === b.uid && isNotNewer(b.resourceVersion, a.resourceVersion);
}
