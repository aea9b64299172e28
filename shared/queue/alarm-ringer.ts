import { OperatorError } from '../errors.ts';
import type { Publisher, Topic } from '../ports/broker.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { AlarmTable, UpcomingAlarm } from './alarm-table.ts';
import { Pace } from './pace.ts';
import { Pause } from './pause.ts';
import { type TenantBudgets, tenantOf } from './tenant-budgets.ts';
import { wasLeft } from './work-item.ts';

export interface AlarmRingerOptions {
  readonly table: AlarmTable;
  /** The store's time, or a little less. */
  readonly storeNow: () => number;
  /** Called when the window holds nothing more to ring, and may hide others. */
  readonly onSpent: () => void;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly ringsPerSecond: number;
  readonly budgets: TenantBudgets;
}

export interface AlarmRingerStats {
  readonly rung: number;
  readonly failures: number;
  /** How long after its time the latest alarm was taken by the broker; undefined before the first. Milliseconds. */
  readonly lateMs: number | undefined;
}

const MAX_IN_FLIGHT = 100;
/** A broker that fails is left alone for this long. Milliseconds. */
const REST_MS = 1_000;
/** How long the last rings may take when the process ends. Milliseconds. */
const FLUSH_MS = 2_000;

/** Rings what the table says is due, oldest first, at a bounded rate. What the broker does not take is due again. */
export class AlarmRinger {
  readonly #options: AlarmRingerOptions;
  readonly #pause: Pause;
  readonly #pace: Pace;
  #inFlight = 0;
  #stats: AlarmRingerStats = { rung: 0, failures: 0, lateMs: undefined };
  #broker: 'well' | 'failing' = 'well';

  constructor(options: AlarmRingerOptions) {
    this.#options = options;
    this.#pace = new Pace(options.ringsPerSecond);
    this.#pause = new Pause(options.clock);
  }

  /** Looks at the table again, which has changed. */
  wake(): void {
    this.#pause.wake();
  }

  /** Rings until `signal` aborts; resolves when what is under way has been taken, or two seconds later. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#options;
    signal.addEventListener('abort', () => this.#pause.wake(), { once: true });
    while (!signal.aborted) {
      this.#start();
      await this.#pause.wait(this.#waitMs());
    }
    const end = clock.monotonic() + FLUSH_MS;
    while (this.#inFlight > 0 && clock.monotonic() < end) await this.#pause.wait(end - clock.monotonic());
    if (this.#inFlight > 0) logger.warn('alarms left unsent', { unsent: this.#inFlight });
  }

  stats(): AlarmRingerStats {
    return this.#stats;
  }

  #start(): void {
    const { clock, table, storeNow } = this.#options;
    const now = clock.monotonic();
    while (this.#inFlight < MAX_IN_FLIGHT && this.#pace.nextAt <= now) {
      const alarm = table.take(storeNow());
      if (alarm === undefined) break;
      this.#pace.spend(now);
      this.#inFlight += 1;
      this.#publish(alarm).then(
        (messageId) => this.#delivered(alarm, messageId),
        (error: unknown) => this.#failed(alarm, error),
      );
    }
  }

  #waitMs(): number {
    const { clock, table, storeNow, onSpent } = this.#options;
    const now = storeNow();
    const nextAt = table.nextAt ?? Number.POSITIVE_INFINITY;
    if (nextAt > now && table.isSpent(now)) onSpent();
    if (this.#inFlight >= MAX_IN_FLIGHT) return Number.POSITIVE_INFINITY;
    return Math.max(nextAt - now, this.#pace.nextAt - clock.monotonic());
  }

  /** Async, so that an alarm that cannot be encoded fails like one that cannot be sent. */
  async #publish(alarm: UpcomingAlarm): Promise<string> {
    const { key } = alarm;
    return await this.#options.publisher.publish(this.#topicOf(alarm), {
      key,
      news: { kind: 'alarm' },
      trigger: 'alarm',
    });
  }

  /** What is owed to a change must not wait behind the background's backlog; what many tenants could fill goes by budget. */
  #topicOf({ key, reason }: UpcomingAlarm): Topic {
    if (wasLeft(reason)) return 'changes';
    if (reason === 'requeue') return 'background';
    const { budgets, clock } = this.#options;
    if (budgets.take(tenantOf(key), clock.monotonic()) === 'within') return 'changes';
    budgets.demote(tenantOf(key));
    return 'background';
  }

  #delivered(alarm: UpcomingAlarm, messageId: string): void {
    const { logger, storeNow } = this.#options;
    const lateMs = Math.round(storeNow() - alarm.wakeAt);
    this.#stats = { ...this.#stats, rung: this.#stats.rung + 1, lateMs };
    if (this.#broker === 'failing') logger.info('broker takes alarms again');
    this.#broker = 'well';
    logger.info('alarm rung', { ...fieldsOf(alarm), messageId, lateMs });
    this.#landed();
  }

  #failed(alarm: UpcomingAlarm, error: unknown): void {
    const { table, logger, clock } = this.#options;
    this.#stats = { ...this.#stats, failures: this.#stats.failures + 1 };
    if (error instanceof OperatorError && error.retry.kind === 'never') {
      logger.error('alarm cannot be sent', { ...fieldsOf(alarm), error });
    } else {
      table.giveBack(alarm);
      this.#pace.rest(REST_MS, clock.monotonic());
      // Once for an outage, not for each alarm.
      if (this.#broker === 'well') logger.warn('broker does not take alarms', { ...fieldsOf(alarm), error });
      this.#broker = 'failing';
    }
    this.#landed();
  }

  #landed(): void {
    this.#inFlight -= 1;
    this.#pause.wake();
  }
}

function fieldsOf({ key }: UpcomingAlarm) {
  const { cluster, controller, namespace, name } = key;
  return { cluster, controller, namespace, name };
}
