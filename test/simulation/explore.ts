/**
 * Explores every schedule of a world, breadth first: the first schedule that is found to violate a property is one of
 * the shortest. States that differ only in names are explored once (`fingerprint.ts`); of a fingerprint, 52 bits are
 * kept, so with a million states one is overlooked with a probability of about one in ten thousand.
 */
import { fingerprint } from './fingerprint.ts';
import { type Explored, type Found, Graph } from './graph.ts';
import { brokenAtTheEnd } from './properties.ts';
import { NOTHING_MISSING, type Without } from './rules.ts';
import { stepsOf } from './steps.ts';
import type { State } from './world.ts';

/** @returns what was explored, or the shortest schedule that violates a property */
export function explore(start: State, without: Without = NOTHING_MISSING): Explored | Found {
  const graph = new Graph();
  let frontier: readonly (readonly [number, State])[] = [[graph.add(fingerprint(start, without), -1, ''), start]];
  while (frontier.length > 0) {
    const next: [number, State][] = [];
    for (const [id, state] of frontier) {
      let ended = true;
      for (const { name, next: take, startsRun = false } of stepsOf(state, without)) {
        const after = take();
        if (after.broken !== null) return { violation: after.broken, trace: [...graph.trace(id), name] };
        const print = fingerprint(after, without);
        const known = graph.find(print);
        // A step that changes nothing: a message that was taken and given back.
        if (known === id) continue;
        ended = false;
        const to = known ?? graph.add(print, id, name);
        if (known === undefined) next.push([to, after]);
        graph.link(id, to, startsRun);
      }
      const violation = ended ? brokenAtTheEnd(state) : null;
      if (violation !== null) return { violation, trace: graph.trace(id) };
    }
    frontier = next;
  }
  return graph.summary();
}
