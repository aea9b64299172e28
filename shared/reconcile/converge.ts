import { TransientError } from '../errors.ts';
import { formatRef, type ObjectRef } from '../kube/key.ts';
import type { Stored } from '../kube/object.ts';
import { type ApplyContext, apply } from './apply.ts';
import { type Change, changesOf } from './changes.ts';
import { Children } from './children.ts';
import type { Plan } from './controller.ts';
import { desiredChildren } from './desired.ts';
import { type Observation, observeMore } from './observe.ts';

/** The observation that a plan found nothing left to write for, and that plan. */
export interface Converged {
  readonly observation: Observation;
  readonly plan: Plan;
}

export interface ConvergeContext extends ApplyContext {
  /** Epoch milliseconds, the same for all rounds, so that a plan's `now` cannot make it differ from itself. */
  readonly now: number;
  /** Stores which children are about to be made, before the first of them is. */
  readonly intend: (children: readonly ObjectRef[]) => Promise<void>;
}

/** Rounds that a deterministic plan never needs: one writes, the next finds nothing to write. */
const MAX_ROUNDS = 5;

/**
 * plan → diff → apply, until a plan finds nothing left to write.
 *
 * The plan is asked again after its children were written, with the children as they then are. So the status that it
 * states is about the world after this run, never about the world before it: a rollout that has just been started is
 * not reported as finished. Likewise when a child exists that the inventory did not name, as after the item was lost: the
 * plan that asked for it took it for missing.
 */
export async function converge(context: ConvergeContext, start: Observation): Promise<Converged> {
  const { cluster, controller, fieldManager, journal, now, signal } = context;
  const settled = new Set<string>();
  let observation = start;
  for (let round = 1; ; round++) {
    const plan = controller.plan({ object: observation.object, children: childrenOf(observation), now });
    const desired = desiredChildren(controller, observation.object, plan.children);
    const wanted = desired.map(({ ref }) => ref);
    const known = observation;
    observation = await journal.stage('observe', () => observeMore(cluster, controller, known, wanted, signal));
    const found = existing(observation) > existing(known);
    const changes = changesOf(observation.object, desired, observation.children, fieldManager).filter(
      (change) => !settled.has(identityOf(change)),
    );
    if (changes.length === 0 && (!found || round > MAX_ROUNDS)) return { observation, plan };
    if (round > MAX_ROUNDS) {
      const left = changes.map((change) => nameOf(change)).join(', ');
      throw new TransientError('PLAN_UNSTABLE', `the plan still wants to write after ${MAX_ROUNDS} rounds: ${left}`);
    }
    if (changes.length === 0) continue;
    const creates = changes.flatMap((change) => (change.kind === 'create' ? [change.desired.ref] : []));
    if (creates.length > 0) await context.intend(creates);
    const before = observation;
    observation = await journal.stage('apply', () => apply(context, changes, before));
    for (const change of changes) if (changedNothing(change, observation)) settled.add(identityOf(change));
  }
}

function existing({ children }: Observation): number {
  return children.filter(({ object }) => object !== undefined).length;
}

function childrenOf({ children }: Observation): Children {
  return new Children(children.flatMap(({ object }) => (object === undefined ? [] : [object])));
}

/**
 * The server kept the object as it was: the difference was one of spelling that our diff does not know. Asking again
 * in this run would change nothing either.
 */
function changedNothing(change: Change, after: Observation): boolean {
  if (change.kind !== 'configure') return false;
  const name = formatRef(change.desired.ref);
  const now = after.children.find(({ ref }) => formatRef(ref) === name)?.object;
  return now?.metadata.resourceVersion === change.observed.metadata.resourceVersion;
}

/** A change is settled for the state of the child that it was made for, and for no other. */
function identityOf(change: Change): string {
  const version = (object: Stored): string => object.metadata.resourceVersion;
  return change.kind === 'create' ? nameOf(change) : `${nameOf(change)}@${version(change.observed)}`;
}

function nameOf(change: Change): string {
  return formatRef(change.kind === 'delete' ? change.ref : change.desired.ref);
}
