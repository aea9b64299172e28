/** Everything that can happen next in a state: deliveries, workers' steps, what users do, faults, and time. */
import { deliver } from './answering.ts';
import { again, ring } from './broker.ts';
import { changeSpec, deleteObject, drift, recreate, removeChild } from './cluster.ts';
import type { Without } from './rules.ts';
import { nowMs } from './store.ts';
import type { Step, Turn } from './turn.ts';
import { die, work } from './worker.ts';
import { type Budget, KEY, type State, type Worker } from './world.ts';

export function stepsOf(state: State, without: Without): readonly Step[] {
  return [
    ...deliveries(state, without),
    ...state.workers.flatMap((worker, slot) => (worker === null ? [] : ofWorker(state, worker, slot, without))),
    ...users(state),
    ...garbage(state),
    ...alarms(state, without),
    ...duplicates(state),
  ];
}

function deliveries(state: State, without: Without): readonly Step[] {
  const slots = state.workers.flatMap((worker, slot) => (worker === null ? [slot] : []));
  // Workers differ only where a mutation makes them differ.
  const tried = without.has('store time') ? slots : slots.slice(0, 1);
  return tried.flatMap((slot) =>
    state.messages
      .filter(({ where }) => where === 'waiting')
      .flatMap((message) => {
        const name = `worker ${slot + 1} is given ${named(state, message.id)} and`;
        return deliver({ state, slot, without }, message.id).map((step) => ({ ...step, name: `${name} ${step.name}` }));
      }),
  );
}

function ofWorker(state: State, worker: Worker, slot: number, without: Without): readonly Step[] {
  const turn: Turn = { state, slot, without };
  const who = `worker ${slot + 1}`;
  const { crashes, losses } = state.budget;
  const hasClaimed = worker.phase.kind !== 'answering';
  return [
    ...work(turn, worker).map((step) => ({ ...step, name: `${who} ${step.name}` })),
    ...(crashes > 0
      ? [{ name: `${who} dies`, next: () => spent(die(turn, worker, 'redelivered'), { crashes: crashes - 1 }) }]
      : []),
    // A message that is lost before it was answered is what the forwarder's census is for.
    ...(crashes > 0 && losses > 0 && hasClaimed
      ? [
          {
            name: `${who} dies, and its message is lost`,
            next: () => spent(die(turn, worker, 'lost'), { crashes: crashes - 1, losses: losses - 1 }),
          },
        ]
      : []),
  ];
}

function users(state: State): readonly Step[] {
  const { object, child, budget } = state;
  const { specs, drifts, childDeletes, deletes, recreates } = budget;
  const steps: Step[] = [];
  const [spec, ...rest] = specs;
  if (object !== null && spec !== undefined) {
    steps.push({
      name: `a user asks for '${spec}'`,
      next: () => spent(changeSpec(state, object, spec), { specs: rest }),
    });
  }
  if (child !== null && child.owner === object?.uid) {
    if (drifts > 0) {
      steps.push({ name: 'somebody edits the child', next: () => spent(drift(state, child), { drifts: drifts - 1 }) });
    }
    if (childDeletes > 0) {
      const budgetLeft = { childDeletes: childDeletes - 1 };
      steps.push({ name: 'somebody deletes the child', next: () => spent(removeChild(state, child), budgetLeft) });
    }
  }
  if (object !== null && deletes > 0) {
    const budgetLeft = { deletes: deletes - 1 };
    steps.push({ name: 'a user deletes the object', next: () => spent(deleteObject(state, object), budgetLeft) });
  }
  if (object === null && recreates > 0) {
    const budgetLeft = { recreates: recreates - 1 };
    steps.push({ name: 'a user creates the object anew', next: () => spent(recreate(state), budgetLeft) });
  }
  return steps;
}

function garbage(state: State): readonly Step[] {
  const { object, child } = state;
  if (child === null || child.owner === object?.uid) return [];
  return [{ name: 'the garbage collector deletes the child', next: () => removeChild(state, child) }];
}

/** Time passes only as far as the next alarm, and somebody rings it. */
function alarms(state: State, without: Without): readonly Step[] {
  const item = state.stored?.item;
  if (item === undefined || item.alarm === null) return [];
  const { wakeAt } = item.alarm;
  if (wakeAt > nowMs(state)) {
    // The garbage collector is not slower than every backoff.
    if (item.alarm.reason === 'backoff' && garbage(state).length > 0) return [];
    const micros = Math.ceil(wakeAt * 1000) + 1;
    const holder = state.workers.find((worker) => worker !== null && worker.id === item.lease?.holderIdentity);
    if (holder === undefined || holder === null) return [{ name: 'time passes', next: () => ({ ...state, micros }) }];
    const { pauses } = state.budget;
    if (pauses === 0) return [];
    const slot = state.workers.indexOf(holder);
    const workers = state.workers.with(slot, { ...holder, overslept: true });
    const name = `worker ${slot + 1} sleeps past the end of its lease`;
    return [{ name, next: () => spent({ ...state, micros, workers }, { pauses: pauses - 1 }) }];
  }
  const isRung = state.messages.some(({ doorbell, where }) => doorbell.news.kind === 'alarm' && where !== 'settled');
  if (isRung || without.has('alarms')) return [];
  const doorbell = { key: KEY, news: { kind: 'alarm' }, trigger: 'alarm' } as const;
  return [{ name: 'the sweep rings', next: () => ring(state, doorbell) }];
}

function duplicates(state: State): readonly Step[] {
  const { duplicates: left } = state.budget;
  if (left === 0) return [];
  return state.messages
    .filter(({ where }) => where !== 'waiting')
    .map(({ id }) => ({
      name: `the broker delivers ${named(state, id)} once more`,
      next: () => forgetting(spent(again(state, id), { duplicates: left - 1 })),
    }));
}

/** What was acknowledged need not be remembered when it cannot come again. */
function forgetting(state: State): State {
  if (state.budget.duplicates > 0) return state;
  return { ...state, messages: state.messages.filter(({ where }) => where !== 'settled') };
}

function spent(state: State, budget: Partial<Budget>): State {
  return { ...state, budget: { ...state.budget, ...budget } };
}

function named(state: State, id: string): string {
  const message = state.messages.find((m) => m.id === id);
  const news = message?.doorbell.news;
  if (news === undefined || !('versions' in news)) return `${id} (${news?.kind})`;
  return `${id} (${news.versions.map(({ uid, resourceVersion }) => `${uid}@${resourceVersion}`).join(' ')})`;
}
