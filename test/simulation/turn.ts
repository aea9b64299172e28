/** One worker in its slot of one state, and the ways in which its turn can end. */
import { ack, nack } from './broker.ts';
import type { Without } from './rules.ts';
import { nowMs } from './store.ts';
import type { State, Worker } from './world.ts';

export interface Turn {
  readonly state: State;
  readonly slot: number;
  /** For which object. */
  readonly at: number;
  readonly without: Without;
}

/** Something that can happen next. */
export interface Step {
  readonly name: string;
  readonly next: () => State;
  /** This step begins a run. */
  readonly startsRun?: boolean;
}

export function put(state: State, { slot }: Turn, worker: Worker | null): State {
  return { ...state, workers: state.workers.with(slot, worker) };
}

export function free(state: State, turn: Turn): State {
  return put(state, turn, null);
}

export function settle(state: State, turn: Turn, messageId: string): State {
  return ack(free(state, turn), messageId);
}

/** The lease is somebody else's: the message comes again. */
export function giveUp(state: State, turn: Turn, { messageId }: Worker): State {
  if (turn.without.has('no ack without lease')) return settle(state, turn, messageId);
  return nack(free(state, turn), messageId);
}

/** A write that was stored, and whose reply got lost: the call is repeated, and finds that the item has moved. */
export function unheard(name: string, stored: State, reread: (state: State) => State): readonly Step[] {
  const { lostReplies } = stored.budget;
  if (lostReplies === 0) return [];
  const state = { ...stored, budget: { ...stored.budget, lostReplies: lostReplies - 1 } };
  return [{ name: `${name}, and does not hear of it`, next: () => reread(state) }];
}

/** How far the workers' own clocks are off. Nothing depends on it, unless leases are judged by them. Milliseconds. */
const SKEWS_MS = [-10 * 60_000, 0, 10 * 60_000] as const;

/** The clock that the worker judges leases by: the store's, or without that guard its own. */
export function clockOf({ state, slot, without }: Turn): number {
  return nowMs(state) + (without.has('store time') ? (SKEWS_MS[slot] ?? 0) : 0);
}

export function isInOneStep({ without }: Turn): boolean {
  return !without.has('swap in one step');
}
