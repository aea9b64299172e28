import type { Area, Claim } from '../claim.ts';
import { storeOutageClaim } from './store-outage.ts';

/** The work queue: nothing is lost, nobody overwrites a newer write, and it costs little. */
export function queue(): Area {
  const storeOutage = storeOutageClaim();
  const claims: readonly Claim[] = [storeOutage.claim];
  return { claims, close: () => storeOutage.close() };
}
