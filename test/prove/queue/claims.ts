import type { Area, Claim } from '../claim.ts';
import { SharedStack } from '../shared-stack.ts';
import { fairnessClaim } from './fairness.ts';

/** The work queue: nothing is lost, nobody overwrites a newer write, and it costs little. */
export function queue(): Area {
  const shared = new SharedStack();
  const claims: readonly Claim[] = [fairnessClaim(shared)];
  return { claims, close: () => shared.close() };
}
