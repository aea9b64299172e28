import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import type { Publisher, Topic } from '../../shared/ports/broker.ts';
import type { LogFields, Logger } from '../../shared/ports/logger.ts';
import type { WorkStore } from '../../shared/ports/work-store.ts';
import { Pace } from '../../shared/queue/pace.ts';
import type { ItemKey } from '../../shared/queue/work-item.ts';
import { WorkQueue } from '../../shared/queue/work-queue.ts';
import type { Controller } from '../../shared/reconcile/controller.ts';
import { keepOutOf } from '../../shared/reconcile/keep-out.ts';
import { type Outcome, reconcileOnce } from '../../shared/reconcile/run.ts';
import type { Runtime } from '../../shared/reconcile/runtime.ts';
import { FakeClock } from './fake-clock.ts';

/** A publisher that remembers what was rung. */
export class Bell implements Publisher {
  readonly rung: { readonly topic: Topic; readonly doorbell: Doorbell }[] = [];
  async publish(topic: Topic, doorbell: Doorbell): Promise<string> {
    this.rung.push({ topic, doorbell });
    return `bell-${this.rung.length}`;
  }
  async close(): Promise<void> {}
}

export class LogBook implements Logger {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: LogFields }[] = [];
  debug(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'debug', message, fields });
  }
  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'info', message, fields });
  }
  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'warn', message, fields });
  }
  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: 'error', message, fields });
  }
}

export interface World {
  readonly cluster: MemoryCluster;
  readonly store: WorkStore;
  readonly clock: FakeClock;
  readonly bell: Bell;
  readonly log: LogBook;
  readonly runtime: Runtime;
  readonly key: ItemKey;
  /** Delivers one doorbell, by default one that always claims. */
  ring(doorbell?: Partial<Doorbell>, messageId?: string): Promise<Outcome>;
}

/** No two of them claim under one name, like processes. */
let worlds = 0;

/** The whole pipeline on in-memory adapters, for the Widget `default/w`. */
export function memoryWorld(
  controller: Controller,
  given: { readonly store?: WorkStore; readonly cluster?: MemoryCluster; readonly clock?: FakeClock } = {},
): World {
  const { clock = new FakeClock(), cluster = new MemoryCluster() } = given;
  const store = given.store ?? new MemoryWorkStore({ clock });
  const bell = new Bell();
  const log = new LogBook();
  let ids = 0;
  const random = { fraction: () => 0.5, id: () => `id-${++ids}` };
  const clusters = new Map([['local', cluster]]);
  const holderIdentity = `test-${++worlds}`;
  const runtime: Runtime = {
    queue: new WorkQueue({ store, clock, random, holderIdentity, keepOut: keepOutOf(clusters, log) }),
    clusters,
    controllers: new Map([[controller.name, controller]]),
    publisher: bell,
    retries: new Pace(10, 10_000),
    clock,
    random,
    log,
  };
  const { group, kind } = controller.kind;
  const key: ItemKey = { cluster: 'local', controller: controller.name, group, kind, namespace: 'default', name: 'w' };
  return {
    cluster,
    store,
    clock,
    bell,
    log,
    runtime,
    key,
    ring: (doorbell = {}, messageId = `message-${++ids}`) =>
      reconcileOnce(
        {
          messageId,
          deliveryAttempt: 1,
          topic: 'changes',
          doorbell: { key, news: { kind: 'unknown' }, trigger: 'test', ...doorbell },
        },
        runtime,
        new AbortController().signal,
      ),
  };
}
