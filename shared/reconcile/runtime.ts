import type { Publisher } from '../ports/broker.ts';
import type { Clock } from '../ports/clock.ts';
import type { Cluster } from '../ports/cluster.ts';
import type { Logger } from '../ports/logger.ts';
import type { Random } from '../ports/random.ts';
import type { Pace } from '../queue/pace.ts';
import type { WorkQueue } from '../queue/work-queue.ts';
import type { Controller } from './controller.ts';

/** What a run needs from the world; built once per process. */
export interface Runtime {
  readonly queue: WorkQueue;
  /** By cluster id. */
  readonly clusters: ReadonlyMap<string, Cluster>;
  /** By name. */
  readonly controllers: ReadonlyMap<string, Controller>;
  readonly publisher: Publisher;
  /** How often this process tries again what failed, all objects together: when much fails at once, it is spread. */
  readonly retries: Pace;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
