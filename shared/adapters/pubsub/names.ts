import type { Queue } from '../../ports/broker.ts';

export const DEFAULT_PREFIX = 'driftless';

/** The id of a topic: `driftless-changes`. One prefix per installation, so that several share a project. */
export function topicId(prefix: string, queue: Queue): string {
  return `${prefix}-${queue}`;
}

/** The id of the one subscription of a topic; it is named after the topic. */
export function subscriptionId(prefix: string, queue: Queue): string {
  return topicId(prefix, queue);
}
