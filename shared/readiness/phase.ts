import type { ReadinessState } from './readiness.ts';

/** Where an object is in its life, in one word for people. Machines read conditions. */
export type Phase =
  /** It has never run. */
  | 'Pending'
  /** It runs, or runs again, but not all of it as the spec says. */
  | 'Running'
  | 'Ready'
  /** It needs somebody: waiting will not help. */
  | 'Failed'
  /** It has run, and nothing reports what runs now. */
  | 'Unknown';

export const PHASES = ['Pending', 'Running', 'Ready', 'Failed', 'Unknown'] as const satisfies readonly Phase[];

/**
 * Every transition there is. Nothing that has run is `Pending` again, and nothing is `Ready` but by being ready.
 *
 * `Unknown` is also where an object starts whose phase this code does not know.
 */
export const TRANSITIONS: Readonly<Record<Phase, Readonly<Record<ReadinessState, Phase>>>> = {
  Pending: { missing: 'Pending', unobserved: 'Pending', progressing: 'Running', ready: 'Ready', failed: 'Failed' },
  Running: { missing: 'Running', unobserved: 'Unknown', progressing: 'Running', ready: 'Ready', failed: 'Failed' },
  Ready: { missing: 'Running', unobserved: 'Unknown', progressing: 'Running', ready: 'Ready', failed: 'Failed' },
  Failed: { missing: 'Running', unobserved: 'Unknown', progressing: 'Running', ready: 'Ready', failed: 'Failed' },
  Unknown: { missing: 'Running', unobserved: 'Unknown', progressing: 'Running', ready: 'Ready', failed: 'Failed' },
};

/** @param current as the status has it; undefined for an object that has none yet */
export function nextPhase(current: string | undefined, state: ReadinessState): Phase {
  if (current === undefined) return TRANSITIONS.Pending[state];
  return TRANSITIONS[isPhase(current) ? current : 'Unknown'][state];
}

function isPhase(text: string): text is Phase {
  return (PHASES as readonly string[]).includes(text);
}
