import type { Doorbell, Topic } from '../message/doorbell.ts';

export type { Topic } from '../message/doorbell.ts';

/** Where messages wait for delivery: one queue per topic, and one for those that could not be processed. */
export type Queue = Topic | 'dead-letter';

/** Sends doorbells. A message may be lost, doubled or late without harm; see `shared/queue`. */
export interface Publisher {
  /** Resolves with the message id once the broker has accepted the message. @throws {TransientError} */
  publish(topic: Topic, doorbell: Doorbell): Promise<string>;
  /** Sends what is still buffered and releases connections. */
  close(): Promise<void>;
}
