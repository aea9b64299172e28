import { isNotNewer } from '../kube/version.ts';
import type { Entry } from './inventory.ts';

/**
 * Whether a change of a controller's own object can matter to a run.
 *
 * A change of status alone moves neither the generation nor the digest; most of them are our own. Kinds without a
 * generation (ConfigMap, Secret …) go by resourceVersion, as every change of them may be one of content.
 *
 * Children have no such rule: whether one is ready is in its status, so each new resourceVersion counts.
 */
export function primaryMoved(before: Entry, after: Entry): boolean {
  if (after.generation === undefined || wentBack(before, after)) {
    return before.resourceVersion !== after.resourceVersion;
  }
  return before.generation !== after.generation || before.digest !== after.digest;
}

/** The store was restored from a backup: what was known of the object never happened. */
export function wentBack(before: Entry, after: Entry): boolean {
  const { resourceVersion } = after;
  return resourceVersion !== before.resourceVersion && isNotNewer(resourceVersion, before.resourceVersion);
}
