import type { Queue } from '../../../shared/ports/broker.ts';

/** A message as a subscription carries it. */
export interface BrokerMessage {
  /** Base64. */
  readonly data: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A message that is ours until it is settled; the source keeps extending its ack deadline meanwhile. */
export interface HeldMessage extends BrokerMessage {
  readonly messageId: string;
  readonly orderingKey?: string;
  /** RFC 3339. */
  readonly publishTime: string;
}

/** `ack`: it is done with. `nack`: deliver it again, to whoever pulls next. */
export type Settlement = 'ack' | 'nack';

/** The broker that messages are pulled from. */
export interface Source {
  /** Resolves when every queue can be pulled from; creates what is missing. */
  prepare(signal: AbortSignal): Promise<void>;
  /**
   * Hands messages to `handle`, at most `maxHeld` at a time, and settles each as `handle` says.
   *
   * Takes no more messages once `signal` aborts, and resolves when the last one in hand is settled.
   */
  pull(
    queue: Queue,
    maxHeld: number,
    handle: (message: HeldMessage) => Promise<Settlement>,
    signal: AbortSignal,
  ): Promise<void>;
  send(queue: Queue, message: BrokerMessage): Promise<void>;
  close(): Promise<void>;
}
