/**
 * What must be true when nothing can happen any more. (What no single step may do is checked where the step is made:
 * `store.ts`, `cluster.ts`.)
 */
import type { Place, State } from './world.ts';

/** The first property that the end of a schedule violates. */
export function brokenAtTheEnd({ places, messages, workers, isFirstIll }: State): string | null {
  if (workers.some((worker) => worker !== null)) return 'a worker waits for ever';
  if (messages.some(({ where }) => where !== 'settled')) return 'a message was not answered';
  for (const place of isFirstIll ? places.slice(1) : places) {
    const broken = brokenOf(place);
    if (broken !== null) return broken;
  }
  return null;
}

function brokenOf({ object, child, stored }: Place): string | null {
  const item = stored?.item;
  if (object === null) {
    if (child !== null) return 'no orphan child: the object is gone';
    return item === undefined ? null : 'no lost delete: the object is gone, its item is not';
  }
  if (item === undefined) return 'I1: nobody has looked at the object';
  if (item.lease !== null) return 'the item is held for ever';
  if (item.dirty.kind !== 'clean') return 'I1: news was left for nobody';
  if (item.alarm !== null) return 'an alarm is set that nobody rings';
  if (object.spec === 'none') {
    if (child !== null) return 'no orphan child: nobody wants it';
  } else if (child?.spec !== object.spec || child.owner !== object.uid) {
    return 'I1 and I4: the child is as the last spec wants it';
  }
  return object.observed === object.generation ? null : 'I1 and I4: the status is about the last generation';
}
