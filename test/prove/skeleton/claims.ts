import type { Area } from '../claim.ts';
import { SharedStack } from '../shared-stack.ts';
import { badInputClaim } from './bad-input.ts';
import { costClaim } from './cost.ts';
import { devClaims } from './dev.ts';
import { freshCloneClaims } from './fresh-clone.ts';
import { killClaims } from './kills.ts';
import { latencyClaim } from './latency.ts';
import { repairClaim } from './repair.ts';
import { testsClaim } from './tests.ts';

/** The main job, on real parts, in one command. */
export function skeleton(): Area {
  const shared = new SharedStack();
  const clone = freshCloneClaims();
  return {
    claims: [
      ...clone.claims,
      repairClaim(shared),
      costClaim(shared),
      ...killClaims(shared),
      latencyClaim(shared),
      ...devClaims(),
      badInputClaim(shared),
      testsClaim(),
    ],
    async close() {
      await shared.close();
      await clone.close();
    },
  };
}
