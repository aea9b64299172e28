/**
 * The work store: an item for each object, changed by compare-and-swap, with a clock that every write moves on. Each change is checked
 * to be one that its author may make (I2, I6).
 */
import { isDeepStrictEqual } from 'node:util';
import type { WorkItem } from '../../shared/queue/work-item.ts';
import type { Without } from './rules.ts';
import { placeOf, type Reading, type State, withPlace } from './world.ts';

export function read(state: State, at: number): Reading {
  const { stored } = placeOf(state, at);
  return { item: stored?.item, revision: stored?.revision };
}

export function nowMs(state: State): number {
  return state.micros / 1000;
}

/** Stores the item, or removes it; undefined when the swap was lost. */
export function swap(
  { state, at, without }: { readonly state: State; readonly at: number; readonly without: Without },
  author: string,
  next: WorkItem | undefined,
  expected: number | undefined,
): State | undefined {
  const { stored: before, revisions } = placeOf(state, at);
  if (before?.revision !== expected && !without.has('compare-and-swap')) return undefined;
  const broken = state.kept ? TWO_SWAPS : violation(state, author, before?.item, next);
  const after = { ...state, broken, micros: state.micros + 1 };
  if (next === undefined) return withPlace(after, at, { stored: null });
  if (without.has('nonce') && before !== null && isDeepStrictEqual(before.item, next)) return { ...after, kept: true };
  const revision = revisions + 1;
  return withPlace(after, at, { stored: { item: next, revision }, revisions: revision });
}

const TWO_SWAPS = 'store: of two swaps that compare with one revision, one is stored';

function violation(
  state: State,
  author: string,
  before: WorkItem | undefined,
  next: WorkItem | undefined,
): string | null {
  const had = before?.lease ?? null;
  const has = next?.lease ?? null;
  const isHolder = had?.holderIdentity === author;
  if (has === null) return isHolder ? null : 'I2: nobody but the holder ends a run';
  if (has.token === had?.token) {
    const isNewsAtMost = isHolder || isDeepStrictEqual({ ...next, dirty: before?.dirty }, before);
    return isNewsAtMost ? null : 'I2: nobody but the holder changes an item, except to leave news';
  }
  const isFree = had === null || nowMs(state) >= had.renewTime + had.leaseDurationMs;
  if (!isFree && !isHolder) return 'I6: a lease is taken only after its end by the store’s clock';
  return before === undefined || has.token > before.token ? null : 'I2: tokens grow';
}
