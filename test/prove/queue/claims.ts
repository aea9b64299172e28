import type { Area } from '../claim.ts';
import { SharedStack } from '../shared-stack.ts';
import { processChaosClaim } from './chaos.ts';
import { costClaims } from './cost.ts';
import { fairnessClaim } from './fairness.ts';
import { handoverClaim } from './handover.ts';
import { simulationClaims } from './simulation.ts';

/** The work queue: nothing is lost, nobody overwrites a newer write, and it costs little. */
export function queue(): Area {
  const shared = new SharedStack();
  return {
    claims: [
      ...simulationClaims(),
      ...costClaims(),
      handoverClaim(shared),
      fairnessClaim(shared),
      processChaosClaim({ strict: false }),
    ],
    close: () => shared.close(),
  };
}
