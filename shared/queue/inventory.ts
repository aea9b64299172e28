import { TerminalError } from '../errors.ts';
import { formatRef } from '../kube/key.ts';
import { type ChildRecord, formatItemKey, type WorkItem } from './work-item.ts';

/** Keeps an item, with what it has seen of each child, well below the size that a store takes. */
const MAX_CHILDREN = 1000;

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
