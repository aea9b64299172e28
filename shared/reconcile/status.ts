import { type Condition, type ConditionClaim, withConditions } from '../kube/conditions.ts';
import type { Stored } from '../kube/object.ts';
import { toRfc3339 } from '../kube/time.ts';
import type { ApplyContext } from './apply.ts';
import type { FieldChange } from './diff.ts';
import { mergePatch } from './merge-patch.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a run concluded about its object. */
export interface StatusClaim {
  readonly status: Fields;
  readonly conditions: readonly ConditionClaim[];
}

/**
 * The conditions that the runtime itself sets. They are abnormal-true (kstatus): present only while they are true, so
 * a healthy object shows nothing of them.
 */
const RUNTIME_CONDITIONS: ReadonlySet<string> = new Set(['Stalled', 'Reconciling', 'Contended', 'Throttled']);

/**
 * Patches the status subresource where it differs from the claim; writes nothing when it does not.
 *
 * Never replaces the status: other writers' fields and conditions survive. The patch names the resourceVersion that
 * the plan was made from, so a status that was concluded from old news is refused.
 *
 * @returns the object after the write
 * @throws {ConflictError} when the object moved meanwhile
 */
export async function writeStatus(
  context: ApplyContext,
  object: Stored,
  claim: StatusClaim,
  now: number,
): Promise<Stored> {
  const patch = statusPatch(object, claim, now);
  if (patch === undefined) return object;
  const { cluster, controller, fieldManager, journal, signal } = context;
  const { namespace = '', name } = object.metadata;
  const { group, kind } = controller.kind;
  return await journal.write('status', { group, kind, namespace, name }, changesIn(object, patch), () =>
    cluster.patchStatus(controller.kind, object, patch, { fieldManager, signal }),
  );
}

/** The merge patch that makes the object's status as claimed; undefined when it is. */
export function statusPatch(object: Stored, { status, conditions }: StatusClaim, now: number): Fields | undefined {
  const have = statusOf(object);
  const existing = conditionsOf(have);
  const claimed = new Set(conditions.map(({ type }) => type));
  const kept = existing.filter(({ type }) => claimed.has(type) || !RUNTIME_CONDITIONS.has(type));
  const { generation } = object.metadata;
  const want: Fields = {
    ...status,
    conditions: withConditions(kept, conditions, generation, toRfc3339(now)),
    ...(generation === undefined ? {} : { observedGeneration: generation }),
  };
  return mergePatch(want, have);
}

function statusOf(object: Stored): Fields {
  const status = object['status'];
  return typeof status === 'object' && status !== null ? (status as Fields) : {};
}

function conditionsOf(status: Fields): readonly Condition[] {
  const conditions = status['conditions'];
  // The CRD's schema, which the runtime generates, guarantees the entries' shape.
  return Array.isArray(conditions) ? (conditions as readonly Condition[]) : [];
}

/** The patch as field changes, conditions one by one: what a person wants to read in the log. */
function changesIn(object: Stored, patch: Fields): readonly FieldChange[] {
  const have = statusOf(object);
  const before = new Map(conditionsOf(have).map((condition) => [condition.type, condition]));
  return Object.entries(patch).flatMap(([field, want]) =>
    field === 'conditions'
      ? conditionsOf(patch)
          .filter((after) => sentence(before.get(after.type)) !== sentence(after))
          .map((after) => ({
            path: `status.conditions[type=${after.type}]`,
            have: sentence(before.get(after.type)),
            want: sentence(after),
          }))
      : [{ path: `status.${field}`, have: have[field], want }],
  );
}

function sentence(condition: Condition | undefined): string | undefined {
  return condition === undefined ? undefined : `${condition.status} (${condition.reason}): ${condition.message}`;
}
