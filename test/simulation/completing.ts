/** The end of a run, and what comes after it: `WorkQueue.complete`. */
import { complete as completion } from '../../shared/queue/complete.ts';
import { isHolder, withLease } from '../../shared/queue/lease.ts';
import type { WorkItem } from '../../shared/queue/work-item.ts';
import { seenBy } from './answering.ts';
import { nack, ring as publish } from './broker.ts';
import { reportOf } from './run.ts';
import { read, swap } from './store.ts';
import { clockOf, free, giveUp, isInOneStep, put, type Step, settle, type Turn, unheard } from './turn.ts';
import { KEY, type Phase, placeOf, type State, type Worker } from './world.ts';

type Completing = Extract<Phase, { kind: 'completing' }>;

/** With time for another run, and, as often as the world has it, without. */
export function complete(turn: Turn, worker: Worker, phase: Completing): readonly Step[] {
  const hurried = turn.state.budget.hurries > 0 ? completeWith(turn, worker, phase, false) : [];
  return [...completeWith(turn, worker, phase, true), ...hurried];
}

function completeWith(turn: Turn, worker: Worker, phase: Completing, canRerun: boolean): readonly Step[] {
  const { state, at, without } = turn;
  const { held, claim } = phase;
  const isBlind = without.has('token check at complete');
  const reading = isInOneStep(turn) ? read(state, at) : phase.read;
  const item = isBlind ? withLease(reading.item ?? claim.item, held) : seenBy(reading.item, without);
  const ended = completion(item, held, reportOf(phase, without), { nowMs: clockOf(turn), canRerun, fraction: 0.5 });
  if (ended.kind === 'lost') return [{ name: 'finds its lease lost', next: () => giveUp(state, turn, worker) }];
  if (!canRerun && ended.kind !== 'ring') return [];

  const after = ended.kind === 'gone' ? undefined : withOldToken(ended.item, held.token, turn);
  const stored = swap(turn, worker.id, after, reading.revision);
  const reread = (next: State): State => {
    const found = read(next, at);
    if (!isBlind && !isHolder(found.item, held)) return giveUp(next, turn, worker);
    return put(next, turn, { ...worker, phase: { ...phase, read: found } });
  };
  if (stored === undefined) return [{ name: 'loses a race', next: () => reread(state) }];

  const name = `completes: ${ended.kind}`;
  return [...afterwards(turn, worker, name, { ...ended, item: after }, stored), ...unheard(name, stored, reread)];
}

function afterwards(
  turn: Turn,
  worker: Worker,
  name: string,
  { kind, item }: { readonly kind: string; readonly item: WorkItem | undefined },
  stored: State,
): readonly Step[] {
  const { messageId } = worker;
  if (kind === 'rerun' && item?.lease) {
    const claim = { item: { ...item, lease: item.lease }, revision: placeOf(stored, turn.at).revisions };
    const phase: Phase = { kind: 'running', claim, observed: { object: undefined, child: undefined } };
    return [{ name, next: () => put(stored, turn, { ...worker, overslept: false, phase }), startsRun: true }];
  }
  if (kind === 'ring') {
    const budget = { ...stored.budget, hurries: stored.budget.hurries - 1 };
    return [{ name, next: () => put({ ...stored, budget }, turn, { ...worker, phase: { kind: 'ringing' } }) }];
  }
  const { crashes } = stored.budget;
  const died = { ...nack(free(stored, turn), messageId), budget: { ...stored.budget, crashes: crashes - 1 } };
  return [
    { name: `${name}, acknowledges`, next: () => settle(stored, turn, messageId) },
    ...(crashes > 0 ? [{ name: `${name}, dies before it acknowledges`, next: () => died }] : []),
  ];
}

/** Publishes for the news that the run had no time for. */
export function ring(turn: Turn, { messageId }: Worker): readonly Step[] {
  const { state, at } = turn;
  const { losses } = state.budget;
  const rung = publish(state, at, { key: KEY, news: { kind: 'unknown' }, trigger: 'news during the run' });
  const lost = { ...state, budget: { ...state.budget, losses: losses - 1 } };
  return [
    { name: 'rings, acknowledges', next: () => settle(rung, turn, messageId) },
    ...(losses > 0 ? [{ name: 'rings in vain, acknowledges', next: () => settle(lost, turn, messageId) }] : []),
  ];
}

/** Without the guard, a rerun goes on under the token that the run had. */
function withOldToken(item: WorkItem, token: number, { without }: Turn): WorkItem {
  if (item.lease === null || !without.has('token per rerun')) return item;
  return withLease(item, { ...item.lease, token });
}
