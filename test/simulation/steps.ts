/** Everything that can happen next in a state: deliveries, workers' steps, what users do, faults, and time. */
import { deliver } from './answering.ts';
import { again, ring } from './broker.ts';
import { changeSpec, deleteObject, drift, recreate, removeChild } from './cluster.ts';
import type { Without } from './rules.ts';
import { nowMs } from './store.ts';
import type { Step, Turn } from './turn.ts';
import { die, work } from './worker.ts';
import { type Budget, KEY, placeOf, type State, type Worker } from './world.ts';

export function stepsOf(state: State, without: Without): readonly Step[] {
  return [
    ...deliveries(state, without),
    ...state.workers.flatMap((worker, slot) => (worker === null ? [] : ofWorker(state, worker, slot, without))),
    ...state.places.flatMap((_, at) => {
      const steps = [...users(state, at), ...garbage(state, at), ...alarms(state, at, without)];
      return steps.map((step) => ({ ...step, name: `${step.name}${whose(state, at)}` }));
    }),
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
      .flatMap(({ id, at }) => {
        const name = `worker ${slot + 1} is given ${named(state, id)} and`;
        return deliver({ state, slot, at, without }, id).map((step) => ({ ...step, name: `${name} ${step.name}` }));
      }),
  );
}

function ofWorker(state: State, worker: Worker, slot: number, without: Without): readonly Step[] {
  const turn: Turn = { state, slot, at: worker.at, without };
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

function users(state: State, at: number): readonly Step[] {
  const { object, child } = placeOf(state, at);
  const { specs, drifts, childDeletes, deletes, recreates } = state.budget;
  const steps: Step[] = [];
  const [spec, ...rest] = specs;
  if (object !== null && spec !== undefined) {
    const next = () => spent(changeSpec(state, at, object, spec), { specs: rest });
    steps.push({ name: `a user asks for '${spec}'`, next });
  }
  if (child !== null && child.owner === object?.uid) {
    if (drifts > 0) {
      const next = () => spent(drift(state, at, child), { drifts: drifts - 1 });
      steps.push({ name: 'somebody edits the child', next });
    }
    if (childDeletes > 0) {
      const next = () => spent(removeChild(state, at, child), { childDeletes: childDeletes - 1 });
      steps.push({ name: 'somebody deletes the child', next });
    }
  }
  if (object !== null && deletes > 0) {
    const next = () => spent(deleteObject(state, at, object), { deletes: deletes - 1 });
    steps.push({ name: 'a user deletes the object', next });
  }
  if (object === null && recreates > 0) {
    const next = () => spent(recreate(state, at), { recreates: recreates - 1 });
    steps.push({ name: 'a user creates the object anew', next });
  }
  return steps;
}

function garbage(state: State, at: number): readonly Step[] {
  const { object, child } = placeOf(state, at);
  if (child === null || child.owner === object?.uid) return [];
  return [{ name: 'the garbage collector deletes the child', next: () => removeChild(state, at, child) }];
}

/** Time passes only as far as the object's alarm, and somebody rings it. */
function alarms(state: State, at: number, without: Without): readonly Step[] {
  const alarm = placeOf(state, at).stored?.item.alarm ?? null;
  if (alarm === null) return [];
  const { wakeAt, reason } = alarm;
  if (wakeAt > nowMs(state)) {
    if (reason === 'backoff' && state.isFirstIll && at === 0) return [];
    // The garbage collector is not slower than every backoff.
    if (reason === 'backoff' && garbage(state, at).length > 0) return [];
    return timePasses(state, at, wakeAt);
  }
  const isRung = state.messages.some(
    (message) => message.at === at && message.doorbell.news.kind === 'alarm' && message.where !== 'settled',
  );
  if (isRung || without.has('alarms')) return [];
  const doorbell = { key: KEY, news: { kind: 'alarm' }, trigger: 'alarm' } as const;
  return [{ name: 'the sweep rings', next: () => ring(state, at, doorbell) }];
}

/** Nobody's lease ends while he works, unless he sleeps: the time until then passes only after his run. */
function timePasses(state: State, at: number, wakeAt: number): readonly Step[] {
  const micros = Math.ceil(wakeAt * 1000) + 1;
  const holders = state.workers.filter((worker) => worker !== null && endOfLease(state, worker) * 1000 <= micros);
  const [holder, other] = holders;
  if (holder === undefined) return [{ name: 'time passes', next: () => ({ ...state, micros }) }];
  const { pauses } = state.budget;
  if (pauses === 0 || holder?.at !== at || other !== undefined) return [];
  const slot = state.workers.indexOf(holder);
  const workers = state.workers.with(slot, { ...holder, overslept: true });
  const name = `worker ${slot + 1} sleeps past the end of its lease`;
  return [{ name, next: () => spent({ ...state, micros, workers }, { pauses: pauses - 1 }) }];
}

/** Infinite for whoever holds nothing. */
function endOfLease(state: State, worker: Worker): number {
  const lease = placeOf(state, worker.at).stored?.item.lease;
  const isHolder = lease?.holderIdentity === worker.id;
  return isHolder ? lease.renewTime + lease.leaseDurationMs : Number.POSITIVE_INFINITY;
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
  const whom = whose(state, message?.at ?? 0);
  if (news === undefined || !('versions' in news)) return `${id} (${news?.kind})${whom}`;
  return `${id} (${news.versions.map(({ uid, resourceVersion }) => `${uid}@${resourceVersion}`).join(' ')})${whom}`;
}

function whose({ places }: State, at: number): string {
  return places.length === 1 ? '' : ` of object ${at + 1}`;
}
