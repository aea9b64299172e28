/**
 * Explores every schedule of a world, breadth first: the first schedule that is found to violate a property is one of
 * the shortest. States that differ only in names are explored once (`fingerprint.ts`).
 */
import { fingerprint } from './fingerprint.ts';
import { type Explored, Graph } from './graph.ts';
import { brokenAtTheEnd } from './properties.ts';
import { NOTHING_MISSING, type Without } from './rules.ts';
import { stepsOf } from './steps.ts';
import type { State } from './world.ts';

export interface Found {
  readonly violation: string;
  /** What happened, step by step. */
  readonly trace: readonly string[];
}

/** @returns what was explored, or the shortest schedule that violates a property */
export function explore(start: State, without: Without = NOTHING_MISSING): Explored | Found {
  const graph = new Graph();
  const traceTo = (id: number): readonly string[] => replay(start, graph, graph.wayTo(id), without);
  graph.add(fingerprint(start, without), 0);
  let frontier: readonly State[] = [start];
  while (frontier.length > 0) {
    const next: State[] = [];
    for (const state of frontier) {
      const id = graph.expand();
      let ended = true;
      for (const { name, next: take, startsRun = false } of stepsOf(state, without)) {
        const after = take();
        if (after.broken !== null) return { violation: after.broken, trace: [...traceTo(id), name] };
        const print = fingerprint(after, without);
        const known = graph.find(print);
        // A step that changes nothing: a message that was taken and given back.
        if (known === id) continue;
        ended = false;
        if (known === undefined) next.push(after);
        graph.link(known ?? graph.add(print, id), startsRun);
      }
      const violation = ended ? brokenAtTheEnd(state) : null;
      if (violation !== null) return { violation, trace: traceTo(id) };
    }
    frontier = next;
  }
  const summary = graph.summary();
  if (!('circle' in summary)) return summary;
  const [first = 0, ...round] = summary.circle;
  const there = graph.wayTo(first);
  const trace = replay(start, graph, [...there, ...round, first], without);
  const around = ['… and round:', ...trace.slice(there.length)];
  return { violation: 'bounded runs: a schedule goes in circles', trace: [...trace.slice(0, there.length), ...around] };
}

/** The names of the steps that lead from state to state. */
function replay(start: State, graph: Graph, way: readonly number[], without: Without): readonly string[] {
  let state = start;
  return way.map((id) => {
    for (const { name, next } of stepsOf(state, without)) {
      const after = next();
      if (graph.find(fingerprint(after, without)) !== id) continue;
      state = after;
      return name;
    }
    throw new Error('the same steps lead to other states');
  });
}
