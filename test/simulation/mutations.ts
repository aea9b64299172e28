/**
 * The guards of the protocol, each taken away in turn: if some schedule of a small world then violates a property, the
 * guard is needed, and the simulator can see it. Where two guards cover each other, one alone is not missed; then both
 * are taken away, and `harmless` shows that each of them suffices.
 */
import type { Guard } from './rules.ts';
import { newWorld, settledWorld } from './starts.ts';
import type { Budget, State } from './world.ts';

export interface Mutation {
  readonly without: readonly Guard[];
  readonly start: State;
  /** What the shortest schedule violates. */
  readonly violates: string;
  /** Sets of guards that may be missing in the same world without harm. */
  readonly harmless?: readonly (readonly Guard[])[];
}

const fresh = (budget: Partial<Budget>): State => newWorld(budget);
const settled = (budget: Partial<Budget>): State => settledWorld(budget);

const CHILD = 'I1 and I4: the child is as the last spec wants it';
const HELD = 'the item is held for ever';

export const MUTATIONS: readonly Mutation[] = [
  {
    without: ['compare-and-swap', 'swap in one step'],
    start: fresh({ specs: ['b'] }),
    violates: 'I2: nobody but the holder changes an item, except to leave news',
  },
  {
    // Every write of the rules differs from what is stored (each claim has a holder and a token of its own, and what is
    // dirty already is not stored again), so equal swaps come about only without that, too.
    without: ['nonce', 'known dirt is not stored', 'swap in one step'],
    start: settled({ specs: ['b'], drifts: 1, duplicates: 1 }),
    violates: 'store: of two swaps that compare with one revision, one is stored',
    harmless: [
      ['nonce', 'swap in one step'],
      ['known dirt is not stored', 'swap in one step'],
    ],
  },
  {
    without: ['token check at complete'],
    start: settled({ specs: ['b'], pauses: 1 }),
    violates: 'I2: nobody but the holder ends a run',
  },
  { without: ['token per rerun'], start: settled({ specs: ['b'], drifts: 1, lostReplies: 1 }), violates: CHILD },
  { without: ['dirty before ack'], start: fresh({ specs: ['b'] }), violates: CHILD },
  { without: ['seen per object'], start: settled({ specs: ['b'], drifts: 1 }), violates: CHILD },
  {
    without: ['no ack without lease', 'alarms'],
    start: settled({ specs: ['b'], crashes: 1, pauses: 1, duplicates: 1 }),
    violates: HELD,
    harmless: [['no ack without lease'], ['alarms']],
  },
  {
    without: ['no ack of a redelivery', 'alarms'],
    start: settled({ specs: ['b'], crashes: 1, duplicates: 1 }),
    violates: HELD,
    harmless: [['no ack of a redelivery'], ['alarms']],
  },
  { without: ['alarms'], start: settled({ specs: ['b'], crashes: 1, losses: 1 }), violates: HELD },
  {
    without: ['resourceVersion in status'],
    start: fresh({ specs: ['b'], pauses: 1 }),
    violates: 'I1 and I4: the status is about the last generation',
  },
  {
    without: ['resourceVersion in child'],
    start: settled({ specs: ['b'], drifts: 1, pauses: 1 }),
    violates: 'I2: no write of an older token overwrites one of a newer',
  },
  {
    without: ['no create of what exists'],
    start: fresh({ specs: ['b'], pauses: 1 }),
    violates: 'I2: no write of an older token overwrites one of a newer',
  },
  {
    // A clock that is right, and one that is ten minutes fast …
    without: ['store time'],
    start: { ...settled({ specs: ['b'], drifts: 1 }), workers: [null, null, null] },
    violates: 'I6: a lease is taken only after its end by the store’s clock',
  },
  {
    // … and one that is ten minutes slow: every alarm is acknowledged as too early, and rings again.
    without: ['store time'],
    start: { ...settled({ specs: ['b'], crashes: 1 }), workers: [null] },
    violates: 'bounded runs: a schedule goes in circles',
  },
  {
    without: ['intent before create'],
    start: fresh({ specs: ['none'], crashes: 1, losses: 1 }),
    violates: 'no orphan child: nobody wants it',
  },
  {
    without: ['children in doubt'],
    start: fresh({ specs: ['none'], pauses: 1 }),
    violates: 'no orphan child: nobody wants it',
  },
];
