/** The worlds that are explored: what may happen in them, and the most runs that any schedule may then take. */
import { newWorld, settledWorld } from './starts.ts';
import type { Budget, State } from './world.ts';

export interface World {
  readonly name: string;
  readonly start: State;
  /** The most runs of any schedule: each is owed to a change, a fault, or a delivery. */
  readonly runs: number;
}

const world = (name: string, budget: Partial<Budget>, runs: number): World => ({ name, start: newWorld(budget), runs });
const settled = (name: string, budget: Partial<Budget>, runs: number): World => ({
  name,
  start: settledWorld(budget),
  runs,
});
/** Two objects, which share broker, clock and workers. */
const two = (name: string, budget: Partial<Budget>, runs: number): World => ({
  name: `two objects: ${name}`,
  start: settledWorld(budget, 2),
  runs,
});
/** The first object can never be applied, and nobody waits for it: it must not keep the second one from its end (I5). */
const besideIll = (name: string, budget: Partial<Budget>, runs: number): World => ({
  name: `beside an object that cannot be applied: ${name}`,
  start: { ...settledWorld(budget, 2), isFirstIll: true },
  runs,
});

/** Explored at every test run. */
export const SMALL: readonly World[] = [
  world('nothing but a new object', {}, 1),
  world('a change, a drift', { specs: ['b'], drifts: 1 }, 3),
  world('a change, a crash', { specs: ['b'], crashes: 1 }, 3),
  world('a change, a pause', { specs: ['b'], pauses: 1 }, 4),
  world(
    'a change, a lost reply, no time for a rerun, a lost message',
    { specs: ['b'], lostReplies: 1, hurries: 1, losses: 1 },
    4,
  ),
  world(
    'the child is not wanted any more, a crash that takes its message along',
    { specs: ['none'], crashes: 1, losses: 1 },
    5,
  ),
  world('the child is not wanted any more, a pause', { specs: ['none'], pauses: 1 }, 6),
  world('the object is deleted, a pause', { deletes: 1, pauses: 1 }, 5),
  world('the object is deleted and created anew', { deletes: 1, recreates: 1 }, 5),
  settled('a change, a drift, a crash, a duplicate', { specs: ['b'], drifts: 1, crashes: 1, duplicates: 1 }, 3),
  settled('a change, a drift, a pause, a duplicate', { specs: ['b'], drifts: 1, pauses: 1, duplicates: 1 }, 4),
  settled(
    'a change, a drift, a crash, a lost reply, no time for a rerun, a lost message',
    { specs: ['b'], drifts: 1, crashes: 1, lostReplies: 1, hurries: 1, losses: 1 },
    6,
  ),
  settled('a change, the child is deleted, a pause', { specs: ['b'], childDeletes: 1, pauses: 1 }, 4),
  settled('the object is deleted and created anew, a pause', { deletes: 1, recreates: 1, pauses: 1 }, 5),
  settled('a change, a drift, a crash, two refused writes', { specs: ['b'], drifts: 1, crashes: 1, refusals: 2 }, 5),
  two('two changes, a crash', { specs: ['b', 'b'], crashes: 1 }, 4),
  two('two changes, a pause', { specs: ['b', 'b'], pauses: 1 }, 4),
  besideIll('two changes, a crash', { specs: ['b', 'b'], crashes: 1 }, 4),
];

/** Explored by CI, too. */
export const LARGE: readonly World[] = [
  settled(
    'a change, a drift, a crash, a pause, a duplicate',
    { specs: ['b'], drifts: 1, crashes: 1, pauses: 1, duplicates: 1 },
    5,
  ),
  settled(
    'the child is not wanted any more, a drift, a crash, a pause',
    { specs: ['none'], drifts: 1, crashes: 1, pauses: 1 },
    7,
  ),
  world('a change, a crash, a pause', { specs: ['b'], crashes: 1, pauses: 1 }, 5),
  world(
    'the child is not wanted any more, somebody deletes it, a pause',
    { specs: ['none'], childDeletes: 1, pauses: 1 },
    7,
  ),
  world(
    'a change, the child is deleted, a crash, a lost message',
    { specs: ['b'], childDeletes: 1, crashes: 1, losses: 1 },
    5,
  ),
  world('the object is deleted and created anew, a crash', { deletes: 1, recreates: 1, crashes: 1 }, 7),
  two('two changes, a drift, a crash', { specs: ['b', 'b'], drifts: 1, crashes: 1 }, 6),
  two('two changes, a crash, a pause', { specs: ['b', 'b'], crashes: 1, pauses: 1 }, 6),
  two('two changes, a crash, a duplicate', { specs: ['b', 'b'], crashes: 1, duplicates: 1 }, 4),
  besideIll('two changes, a drift, a crash', { specs: ['b', 'b'], drifts: 1, crashes: 1 }, 6),
];
