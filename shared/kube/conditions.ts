/** One entry of `status.conditions`, as `metav1.Condition` defines it. */
export interface Condition {
  readonly type: string;
  readonly status: ConditionStatus;
  /** CamelCase, for machines. */
  readonly reason: string;
  /** A sentence, for people. */
  readonly message: string;
  /** The `metadata.generation` that this was concluded from; `kubectl wait` honours it. */
  readonly observedGeneration?: number;
  /** RFC 3339; moves only when `status` moves. */
  readonly lastTransitionTime: string;
}

export type ConditionStatus = 'True' | 'False' | 'Unknown';

/** A condition as an author states it; the runtime adds generation and time. */
export interface ConditionClaim {
  readonly type: string;
  readonly status: ConditionStatus;
  readonly reason: string;
  readonly message: string;
}

/**
 * The conditions after `claims` were made, in a stable order: the existing ones first, new ones behind.
 *
 * Conditions that nobody claims stay as they are, so other writers' conditions survive. `lastTransitionTime` moves
 * only with `status` (API conventions, "Typical status properties").
 *
 * @param now RFC 3339 time of this run.
 */
export function withConditions(
  existing: readonly Condition[],
  claims: readonly ConditionClaim[],
  generation: number | undefined,
  now: string,
): readonly Condition[] {
  const next = new Map(existing.map((condition) => [condition.type, condition]));
  for (const claim of claims) {
    const before = next.get(claim.type);
    next.set(claim.type, {
      type: claim.type,
      status: claim.status,
      reason: claim.reason,
      message: claim.message,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastTransitionTime: before?.status === claim.status ? before.lastTransitionTime : now,
    });
  }
  return [...next.values()];
}

/**
 * Whether a condition is true of the object as it is now: what `kubectl wait --for=condition=TYPE` asks.
 *
 * @param generation the object's `metadata.generation`; a condition that was concluded from an older one does not count
 */
export function isTrue(conditions: readonly Condition[] | undefined, type: string, generation?: number): boolean {
  return (conditions ?? []).some(
    (condition) =>
      condition.type === type && condition.status === 'True' && condition.observedGeneration === generation,
  );
}
