/** From a claim to the end of its run: each step is one call to the API server, or one change of the item. */
import type { Ending } from '../../shared/queue/complete.ts';
import { withIntended } from '../../shared/queue/inventory.ts';
import { isHolder, type LeasedItem, renewed } from '../../shared/queue/lease.ts';
import { applyNew, applyObserved, removeChild, writeStatus } from './cluster.ts';
import { complete } from './completing.ts';
import { actionOf, CHILD } from './run.ts';
import { read, swap } from './store.ts';
import { clockOf, giveUp, isInOneStep, put, type Step, type Turn, unheard } from './turn.ts';
import { type ApiChild, type Claim, type Observed, type Phase, placeOf, type State, type Worker } from './world.ts';

type Running = Extract<Phase, { kind: 'running' }>;

export function run(turn: Turn, worker: Worker, phase: Running): readonly Step[] {
  return [...act(turn, worker, phase), ...wakeUp(turn, worker, phase)];
}

function act(turn: Turn, worker: Worker, phase: Running): readonly Step[] {
  const { claim, observed } = phase;
  const { state, at, without } = turn;
  const saw = (next: State, more: Partial<Observed>): State =>
    put(next, turn, { ...worker, phase: { ...phase, observed: { ...observed, ...more } } });
  /** The state after a write, or, when it was refused, another look at the world. */
  const wrote = (next: State | undefined, what: 'object' | 'child'): State =>
    next === undefined
      ? saw(state, { object: undefined, child: undefined })
      : saw(next, { [what]: placeOf(next, at)[what] });
  const written = (name: string, write: () => State | undefined): readonly Step[] => [
    ...(state.isFirstIll && at === 0 ? [] : [{ name, next: () => wrote(write(), 'child') }]),
    ...refused(turn, worker, phase, name),
  ];
  const action = actionOf(claim.item, observed, without);
  switch (action.kind) {
    case 'read':
      return action.what.map((what) => ({
        name: `reads the ${what}`,
        next: () => saw(state, { [what]: placeOf(state, at)[what] }),
      }));
    case 'intend':
      return change(turn, worker, phase, 'records the child', (held) => withIntended(held, [CHILD]));
    case 'create': {
      const writer = { token: claim.item.lease.token, without };
      return written('creates the child', () => applyNew(state, at, action.owner, writer));
    }
    case 'configure': {
      const { child, spec } = action;
      const { token } = claim.item.lease;
      const apply = () => applyObserved(state, at, child, { spec, token, without });
      return written('repairs the child', apply);
    }
    case 'delete':
      return written('deletes the child', () => deleted(state, at, action.child));
    case 'status':
      return [
        { name: 'writes the status', next: () => wrote(writeStatus(state, at, action.object, without), 'object') },
      ];
    case 'end': {
      // No contact with the world: part of the first try to complete.
      return complete(turn, worker, ended(phase, action.ending));
    }
  }
}

function ended({ claim, observed }: Running, ending: Ending): Extract<Phase, { kind: 'completing' }> {
  return { kind: 'completing', claim, held: claim.item.lease, observed, ending, read: claim };
}

/** The API server does not take the write of the child, as often as the world has it; the run fails. */
function refused(turn: Turn, worker: Worker, phase: Running, name: string): readonly Step[] {
  const { state, at } = turn;
  const { budget, isFirstIll } = state;
  const isIll = isFirstIll && at === 0;
  if (!isIll && budget.refusals === 0) return [];
  const error = { code: 'UNAVAILABLE', message: '' };
  const ending: Ending = { kind: 'failed', error, retry: { kind: 'backoff' }, attempts: 1 };
  const refusals = isIll ? budget.refusals : budget.refusals - 1;
  const after = { ...turn, state: { ...state, budget: { ...budget, refusals } } };
  const steps = complete(after, worker, ended(phase, ending));
  return steps.map((step) => ({ ...step, name: `${name} in vain, and ${step.name}` }));
}

/** Already gone is success; a child that was made anew, or moved, is a conflict. */
function deleted(state: State, at: number, { uid, version }: ApiChild): State | undefined {
  const { child } = placeOf(state, at);
  if (child === null) return state;
  return child.uid === uid && child.version === version ? removeChild(state, at, child) : undefined;
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
  const { state, at } = turn;
  const { lease } = phase.claim.item;
  const on = (next: State, claim: Claim): State => put(next, turn, { ...worker, phase: { ...phase, claim } });
  const reread = (next: State): State => {
    const { item, revision = 0 } = read(next, at);
    return isHolder(item, lease) ? on(next, { item, revision }) : giveUp(next, turn, worker);
  };
  const now = read(state, at);
  const isCurrent = isInOneStep(turn) && isHolder(now.item, lease);
  const { item, revision } = isCurrent ? { item: now.item, revision: now.revision ?? 0 } : phase.claim;
  const next = how(item);
  const stored = swap(turn, worker.id, next, revision);
  if (stored === undefined) return [{ name: 'loses a race', next: () => reread(state) }];
  return [
    { name, next: () => on(stored, { item: next, revision: placeOf(stored, at).revisions }) },
    ...unheard(name, stored, reread),
  ];
}
