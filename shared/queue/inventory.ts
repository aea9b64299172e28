import { TerminalError } from '../errors.ts';
import { formatRef } from '../kube/key.ts';
import type { News } from '../message/doorbell.ts';
import { type ChildRecord, formatItemKey, type Seen, type WorkItem } from './work-item.ts';

/** Keeps an item, with what it has seen of each child, well below the size that a store takes. */
const MAX_CHILDREN = 1000;

/** Names that are remembered though nothing of that name exists: each costs a read at every run. */
const MAX_ABSENT = 32;

/** The inventory as the successor of a holder that never completed must take it. */
export function inDoubt(children: readonly ChildRecord[]): readonly ChildRecord[] {
  return children.map((child) => ({ ...child, mayReturn: true }));
}

/** The inventory after a run that found `existing`: with what may return of what was `known` before it. */
export function afterRun(known: readonly ChildRecord[], existing: readonly ChildRecord[]): readonly ChildRecord[] {
  const doubtful = known.filter(({ mayReturn }) => mayReturn === true);
  if (doubtful.length === 0) return existing;
  const names = new Set(doubtful.map(formatRef));
  const found = new Set(existing.map(formatRef));
  const absent = doubtful.filter((child) => !found.has(formatRef(child))).map((child) => ({ ...child, uid: null }));
  return [
    ...existing.map((child): ChildRecord => (names.has(formatRef(child)) ? { ...child, mayReturn: true } : child)),
    ...absent.slice(-MAX_ABSENT),
  ];
}

/**
 * The item with these children in its inventory; the very same item when it knows them all. A child that it knows
 * keeps its uid.
 *
 * @throws {TerminalError} for more children than an item can hold
 */
export function withIntended<T extends WorkItem>(item: T, intended: readonly ChildRecord[]): T {
  const known = new Set(item.children.map(formatRef));
  const added = intended.filter((child) => !known.has(formatRef(child)));
  if (added.length === 0) return item;
  const children = [...item.children, ...added];
  if (children.length <= MAX_CHILDREN) return { ...item, children };
  throw new TerminalError(
    'TOO_MANY_CHILDREN',
    `${formatItemKey(item.key)} would have ${children.length} children; at most ${MAX_CHILDREN} are supported`,
  );
}

/**
 * The item with the children that a doorbell names in its inventory; the very same item when it knows them all, as it
 * does unless it was lost with the store. Whether they are its own is for the run to find out.
 */
export function withNamed(item: WorkItem, news: News): WorkItem {
  if (!('versions' in news)) return item;
  const known = new Set(item.children.map(formatRef));
  const named = news.versions.flatMap(({ uid, child }): readonly ChildRecord[] =>
    child === undefined || known.has(formatRef(child)) || item.seen.gone.includes(uid) ? [] : [{ ...child, uid }],
  );
  if (named.length === 0) return item;
  return { ...item, children: [...item.children, ...named].slice(0, MAX_CHILDREN) };
}

/** Those of the inventory at which no run has looked: a doorbell named them while the last one was under way. */
export function notLookedAt(children: readonly ChildRecord[], { versions, gone }: Seen): readonly ChildRecord[] {
  return children.filter(({ uid }) => uid !== null && versions[uid] === undefined && !gone.includes(uid));
}
