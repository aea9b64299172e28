/** From a claim to the end of its run: each step is one call to the API server, or one change of the item. */
import { withIntended } from '../../shared/queue/inventory.ts';
import { isHolder, type LeasedItem, renewed } from '../../shared/queue/lease.ts';
import { applyNew, applyObserved, removeChild, writeStatus } from './cluster.ts';
import { complete } from './completing.ts';
import { actionOf, CHILD } from './run.ts';
import { read, swap } from './store.ts';
import { clockOf, giveUp, isInOneStep, put, type Step, type Turn, unheard } from './turn.ts';
import type { ApiChild, Claim, Observed, Phase, State, Worker } from './world.ts';

type Running = Extract<Phase, { kind: 'running' }>;

export function run(turn: Turn, worker: Worker, phase: Running): readonly Step[] {
  return [...act(turn, worker, phase), ...wakeUp(turn, worker, phase)];
}

function act(turn: Turn, worker: Worker, phase: Running): readonly Step[] {
  const { claim, observed } = phase;
  const { state, without } = turn;
  const saw = (next: State, more: Partial<Observed>): State =>
    put(next, turn, { ...worker, phase: { ...phase, observed: { ...observed, ...more } } });
  /** The state after a write, or, when it was refused, another look at the world. */
  const wrote = (next: State | undefined, what: 'object' | 'child'): State =>
    next === undefined ? saw(state, { object: undefined, child: undefined }) : saw(next, { [what]: next[what] });
  const action = actionOf(claim.item, observed, without);
  switch (action.kind) {
    case 'read':
      return action.what.map((what) => ({
        name: `reads the ${what}`,
        next: () => saw(state, { [what]: state[what] }),
      }));
    case 'intend':
      return change(turn, worker, phase, 'records the child', (held) => withIntended(held, [CHILD]));
    case 'create': {
      const { token } = claim.item.lease;
      return [{ name: 'creates the child', next: () => wrote(applyNew(state, action.owner, token, without), 'child') }];
    }
    case 'configure': {
      const { child, spec } = action;
      const apply = () => applyObserved(state, child, spec, claim.item.lease.token, without);
      return [{ name: 'repairs the child', next: () => wrote(apply(), 'child') }];
    }
    case 'delete':
      return [{ name: 'deletes the child', next: () => wrote(deleted(state, action.child), 'child') }];
    case 'status':
      return [{ name: 'writes the status', next: () => wrote(writeStatus(state, action.object, without), 'object') }];
    case 'end': {
      // No contact with the world: part of the first try to complete.
      const { ending } = action;
      return complete(turn, worker, {
        kind: 'completing',
        claim,
        held: claim.item.lease,
        observed,
        ending,
        read: claim,
      });
    }
  }
}

/** Already gone is success; a child that was made anew, or moved, is a conflict. */
function deleted(state: State, { uid, version }: ApiChild): State | undefined {
  if (state.child === null) return state;
  return state.child.uid === uid && state.child.version === version ? removeChild(state, state.child) : undefined;
}

/** What a worker that overslept may do besides going on. */
function wakeUp(turn: Turn, worker: Worker, phase: Running): readonly Step[] {
  if (!worker.overslept) return [];
  const awake = { ...worker, overslept: false };
  return [
    { name: 'notices that its lease is over', next: () => giveUp(turn.state, turn, worker) },
    ...change(turn, awake, phase, 'renews its lease', (held) => renewed(held, clockOf(turn))),
  ];
}

/** Changes the item under the worker's token. */
function change(
  turn: Turn,
  worker: Worker,
  phase: Running,
  name: string,
  how: (held: LeasedItem) => LeasedItem,
): readonly Step[] {
  const { state } = turn;
  const { lease } = phase.claim.item;
  const on = (next: State, claim: Claim): State => put(next, turn, { ...worker, phase: { ...phase, claim } });
  const reread = (next: State): State => {
    const { item, revision = 0 } = read(next);
    return isHolder(item, lease) ? on(next, { item, revision }) : giveUp(next, turn, worker);
  };
  const now = read(state);
  const isCurrent = isInOneStep(turn) && isHolder(now.item, lease);
  const { item, revision } = isCurrent ? { item: now.item, revision: now.revision ?? 0 } : phase.claim;
  const next = how(item);
  const stored = swap(state, worker.id, next, revision, turn.without);
  if (stored === undefined) return [{ name: 'loses a race', next: () => reread(state) }];
  return [
    { name, next: () => on(stored, { item: next, revision: stored.revisions }) },
    ...unheard(name, stored, reread),
  ];
}
