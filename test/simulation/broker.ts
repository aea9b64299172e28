/** The broker: messages in no order, each until it is acknowledged; an acknowledgement counts for every delivery. */
import type { Doorbell } from '../../shared/message/doorbell.ts';
import type { Message, State } from './world.ts';

export function ring(state: State, at: number, doorbell: Doorbell | undefined): State {
  if (doorbell === undefined) return state;
  const names = state.names + 1;
  return { ...state, names, messages: [...state.messages, { id: `m${names}`, at, doorbell, where: 'waiting' }] };
}

export function taken(state: State, id: string): State {
  return { ...state, messages: moved(state.messages, id, 'out') };
}

/** Also for a message that was acknowledged: the broker may not have heard of it. */
export function again(state: State, id: string): State {
  return { ...state, messages: moved(state.messages, id, 'waiting') };
}

export function ack(state: State, id: string): State {
  const messages = moved(state.messages, id, 'settled');
  return {
    ...state,
    messages: state.budget.duplicates > 0 ? messages : messages.filter(({ where }) => where !== 'settled'),
  };
}

/** The worker gives the message back; one that somebody else has acknowledged stays so. */
export function nack(state: State, id: string): State {
  const isOut = state.messages.some((message) => message.id === id && message.where === 'out');
  return isOut ? again(state, id) : state;
}

export function lose(state: State, id: string): State {
  return { ...state, messages: state.messages.filter((message) => message.id !== id) };
}

function moved(messages: readonly Message[], id: string, where: Message['where']): readonly Message[] {
  return messages.map((message) => (message.id === id ? { ...message, where } : message));
}
