import type { Version } from '../kube/version.ts';
import { isNotNewer } from '../kube/version.ts';
import type { Doorbell } from '../message/doorbell.ts';
import type { Seen, WorkItem } from './work-item.ts';

/**
 * Whether a doorbell tells something that no completed run has taken into account.
 *
 * Guarantees: what is not provably old is news. A wrong yes costs one run; a wrong no would lose a change.
 * Assumes: a cluster whose store was restored to an earlier state is rung with `unknown`, because its resource versions
 * start below those that were seen.
 */
export function isNews(item: WorkItem | undefined, { news }: Doorbell, nowMs: number): boolean {
  if (item === undefined) return true;
  switch (news.kind) {
    case 'versions':
      return news.versions.some((version) => isUnseen(item.seen, version));
    case 'census':
      return news.versions.some((version) => isUnseen(item.seen, version)) || missesChild(item, news.versions);
    case 'alarm':
      return item.alarm !== null && item.alarm.wakeAt <= nowMs;
    case 'unknown':
      return true;
  }
}

/** Whether no completed run has looked at this state or a later one. An object that is gone for good has no news. */
export function isUnseen({ versions, gone }: Seen, { uid, resourceVersion }: Version): boolean {
  if (gone.includes(uid)) return false;
  const known = versions[uid];
  return known === undefined || !isNotNewer(resourceVersion, known);
}

/** Whether a child that should exist is not among all that do: it was deleted while nobody watched. */
export function missesChild({ children, seen }: WorkItem, existing: readonly Version[]): boolean {
  return children.some(
    ({ uid }) => uid !== null && !seen.gone.includes(uid) && !existing.some((version) => version.uid === uid),
  );
}
