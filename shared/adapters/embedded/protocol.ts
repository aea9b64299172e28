import type { Encoded, PublishedMessage } from '../../message/codec.ts';
import type { AlarmView, StoreState } from '../../ports/alarm-source.ts';
import type { Queue } from '../../ports/broker.ts';
import type { DueAlarm, Page, ReadItem, Revision, Swap } from '../../ports/work-store.ts';
import type { AlarmWindow } from '../../queue/alarm-table.ts';
import type { ItemKey, WorkItem } from '../../queue/work-item.ts';

/**
 * What the embedded server answers: `POST /{operation}` with the request as JSON gives `{ result }`, or, with another
 * status than 200, `{ code, message }`. Client and server are of one build, so neither checks the other's types.
 */
export interface Protocol {
  readonly 'work-items/read': Call<{ readonly key: ItemKey }, ReadItem>;
  readonly 'work-items/write': Call<{ readonly item: WorkItem; readonly expected?: Revision }, Swap>;
  readonly 'work-items/remove': Call<{ readonly key: ItemKey; readonly expected: Revision }, Swap['kind']>;
  readonly 'work-items/due': Call<{ readonly limit: number }, readonly DueAlarm[]>;
  readonly 'work-items/list': Call<{ readonly cluster: string; readonly page: Page }, readonly WorkItem[]>;
  readonly 'alarms/state': Call<{ readonly cluster: string }, StoreState>;
  /** Answers when the window shows something else than `known`, or after `waitMs` with what it shows all the same. */
  readonly 'alarms/view': Call<
    { readonly cluster: string; readonly window: AlarmWindow; readonly known?: string; readonly waitMs: number },
    AlarmView & { readonly version: string }
  >;
  readonly 'messages/publish': Call<{ readonly queue: Queue; readonly message: Encoded }, string>;
  readonly 'messages/pull': Call<
    { readonly queue: Queue; readonly max: number; readonly waitMs: number },
    readonly PublishedMessage[]
  >;
  readonly 'messages/ack': Call<Settled, null>;
  readonly 'messages/nack': Call<Settled, null>;
  readonly 'messages/extend': Call<Settled, null>;
}

export type Operation = keyof Protocol;
export type RequestOf<O extends Operation> = Protocol[O]['request'];
export type ResultOf<O extends Operation> = Protocol[O]['result'];

interface Call<Request, Result> {
  readonly request: Request;
  readonly result: Result;
}

interface Settled {
  readonly queue: Queue;
  readonly messageIds: readonly string[];
}
