/** How far a child is, for the readiness of what depends on it. */
export type ReadinessState =
  /** It does what it is for. */
  | 'ready'
  /** On its way: waiting may be enough. */
  | 'progressing'
  /** It exists, and its controller has not said a word about it. */
  | 'unobserved'
  /** It does not exist (yet, or any more). */
  | 'missing'
  /** Waiting will not help: its own controller has given up. */
  | 'failed';

export interface Readiness {
  readonly state: ReadinessState;
  /** A clause for people, without a period: `1 of 3 replicas are updated and available`. */
  readonly message: string;
}

/** Mildest first. */
const BY_SEVERITY: readonly ReadinessState[] = ['ready', 'progressing', 'unobserved', 'missing', 'failed'];

/** What a whole is, given its parts: as bad as the worst of them. Nothing at all is ready. */
export function worstState(parts: readonly Readiness[]): ReadinessState {
  const worst = Math.max(0, ...parts.map(({ state }) => BY_SEVERITY.indexOf(state)));
  return BY_SEVERITY[worst] ?? 'failed';
}

export const MISSING: Readiness = { state: 'missing', message: 'it does not exist yet' };
