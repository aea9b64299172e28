/**
 * What one worker does next, as `WorkQueue`, `LeaseKeeper` and `Pass` do it: each step is one contact with the store,
 * the API server or the broker, and whatever follows from it without another contact.
 *
 * Workers are as bad as can be: one that slept past the end of its lease may go on as if nothing had happened (a
 * machine that was suspended, whose monotonic clock stood still), or notice and give up, or renew.
 */
import { swapAnswer } from './answering.ts';
import { lose, nack } from './broker.ts';
import { complete, ring } from './completing.ts';
import { run } from './running.ts';
import { free, type Step, type Turn } from './turn.ts';
import type { State, Worker } from './world.ts';

export function work(turn: Turn, worker: Worker): readonly Step[] {
  const { phase } = worker;
  switch (phase.kind) {
    case 'answering':
      return swapAnswer(turn, worker, phase);
    case 'running':
      return run(turn, worker, phase);
    case 'completing':
      return complete(turn, worker, phase);
    case 'ringing':
      return ring(turn, worker);
  }
}

/** The worker is gone, and with it what it knew; the broker delivers its message again, unless that is lost, too. */
export function die(turn: Turn, { messageId }: Worker, message: 'redelivered' | 'lost'): State {
  const state = free(turn.state, turn);
  return message === 'lost' ? lose(state, messageId) : nack(state, messageId);
}
