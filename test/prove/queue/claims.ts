import type { Area, Claim } from '../claim.ts';
import { simulationClaims } from './simulation.ts';

/** The work queue: nothing is lost, nobody overwrites a newer write, and it costs little. */
export function queue(): Area {
  const claims: readonly Claim[] = [...simulationClaims()];
  return { claims, close: async () => undefined };
}
