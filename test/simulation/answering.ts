/** From a delivery to a claim, or to the acknowledgement of what needs no run: `WorkQueue.answer`. */
import { type Answer, answer } from '../../shared/queue/answer.ts';
import type { WorkItem } from '../../shared/queue/work-item.ts';
import { nack, taken } from './broker.ts';
import type { Without } from './rules.ts';
import { oneMaximum } from './run.ts';
import { read, swap } from './store.ts';
import { clockOf, free, isInOneStep, put, type Step, settle, type Turn, unheard } from './turn.ts';
import { type Claim, type Phase, placeOf, type State, type Worker } from './world.ts';

const LEASE_MS = 6_000;

/** The broker delivers a message; the item is read, and what needs no write is acknowledged. */
export function deliver(turn: Turn, messageId: string): readonly Step[] {
  const names = turn.state.names + 1;
  const state = look(taken({ ...turn.state, names }, messageId), turn, `w${names}`, messageId);
  const { phase, ...worker } = state.workers[turn.slot] ?? {};
  if (phase?.kind !== 'answering' || !isInOneStep(turn)) return [{ name: 'looks at it', next: () => state }];
  return swapAnswer({ ...turn, state }, { ...(worker as Omit<Worker, 'phase'>), phase }, phase);
}

/** Swaps what was decided; whoever loses the race looks again. */
export function swapAnswer(
  turn: Turn,
  worker: Worker,
  { aim, item, read: reading }: Extract<Phase, { kind: 'answering' }>,
): readonly Step[] {
  const { id, messageId } = worker;
  const again = (state: State): State => look(state, turn, id, messageId);
  const stored = swap(turn, id, item, reading.revision);
  if (stored === undefined) return [{ name: 'loses a race', next: () => again(turn.state) }];
  const { lease } = item;
  if (aim === 'dirty' || lease === null) {
    const name = 'leaves news';
    return [{ name, next: () => settle(stored, turn, messageId) }, ...unheard(name, stored, again)];
  }
  const claim: Claim = { item: { ...item, lease }, revision: placeOf(stored, turn.at).revisions };
  const phase: Phase = { kind: 'running', claim, observed: { object: undefined, child: undefined } };
  const next = (): State => put(stored, turn, { ...worker, phase });
  return [{ name: 'claims', next, startsRun: true }, ...unheard('claims', stored, again)];
}

/** Reads the item and decides. */
function look(state: State, turn: Turn, id: string, messageId: string): State {
  const doorbell = state.messages.find((message) => message.id === messageId)?.doorbell;
  if (doorbell === undefined) return free(state, turn);
  const reading = read(state, turn.at);
  const item = seenBy(reading.item, turn.without);
  const claimant = { holderIdentity: id, messageId, leaseDurationMs: LEASE_MS };
  const decision = answer(item, doorbell, claimant, { nowMs: clockOf({ ...turn, state }), fraction: 0 });
  const write = writeOf(item, decision, turn.without);
  if (write !== undefined) {
    const phase: Phase = { kind: 'answering', ...write, read: reading };
    return put(state, turn, { id, messageId, at: turn.at, overslept: false, phase });
  }
  const isRefused = decision.kind === 'redelivered' && !turn.without.has('no ack of a redelivery');
  return isRefused ? nack(free(state, turn), messageId) : settle(state, turn, messageId);
}

/** What the decision has to store, if anything. */
function writeOf(
  item: WorkItem | undefined,
  decision: Answer,
  without: Without,
): Pick<Extract<Phase, { kind: 'answering' }>, 'aim' | 'item'> | undefined {
  switch (decision.kind) {
    case 'claim': {
      const { children } = without.has('children in doubt') && item !== undefined ? item : decision.item;
      // No run is counted, so that worlds which differ only in that are one.
      return { aim: 'claim', item: { ...decision.item, children, bucket: null } };
    }
    case 'dirty':
      return without.has('dirty before ack') ? undefined : { aim: 'dirty', item: decision.item };
    case 'already-dirty':
      return item !== undefined && without.has('known dirt is not stored') ? { aim: 'dirty', item } : undefined;
    case 'no-news':
    case 'quarantined':
    case 'redelivered':
      return undefined;
    case 'throttled':
    case 'already-throttled':
    case 'backing-off':
    case 'already-backing-off':
      throw new Error(`these worlds are too short for an item to be ${decision.kind}`);
  }
}

/** The item as its rules see it: without the guard, one maximum stands for every object. */
export function seenBy(item: WorkItem | undefined, without: Without): WorkItem | undefined {
  if (item === undefined || !without.has('seen per object')) return item;
  return { ...item, seen: { ...item.seen, versions: oneMaximum(item.seen.versions) } };
}
