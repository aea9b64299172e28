import type { Area } from '../claim.ts';
import { SharedStack } from '../shared-stack.ts';
import { processChaosClaim } from './chaos.ts';
import { costClaims } from './cost.ts';
import { fairnessClaim } from './fairness.ts';
import { handoverClaim } from './handover.ts';
import { lateWritesClaim } from './late-writes.ts';
import { simulationClaims } from './simulation.ts';
import { storeOutageClaim } from './store-outage.ts';

/** The work queue: nothing is lost, nobody overwrites a newer write, and it costs little. */
export function queue(): Area {
  const shared = new SharedStack();
  const [fairness, storeOutage] = [fairnessClaim(), storeOutageClaim()];
  return {
    claims: [
      ...simulationClaims(),
      ...costClaims(),
      handoverClaim(shared),
      fairness.claim,
      storeOutage.claim,
      lateWritesClaim(),
      processChaosClaim({ strict: false }),
      processChaosClaim({ strict: true }),
    ],
    async close() {
      await shared.close();
      await Promise.all([fairness.close(), storeOutage.close()]);
    },
  };
}
