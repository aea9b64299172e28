import { messageOf, TransientError } from '../errors.ts';
import type { AlarmSource } from '../ports/alarm-source.ts';
import type { Publisher } from '../ports/broker.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { Random } from '../ports/random.ts';
import { AlarmRinger, type AlarmRingerStats } from './alarm-ringer.ts';
import { AlarmTable, WINDOW_MS } from './alarm-table.ts';
import { backoffMs } from './backoff.ts';
import { gapBetween, type StoreGap } from './store-gap.ts';
import { TenantBudgets } from './tenant-budgets.ts';

export interface AlarmClockOptions {
  readonly source: AlarmSource;
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * Called when work may have been lost with alarms or messages: somebody who knows all objects must ring each of them.
   */
  readonly onGap: (gap: StoreGap) => void;
  /** @default 500 */
  readonly ringsPerSecond?: number;
  /** @default 20 alarms a second for each tenant */
  readonly budgets?: TenantBudgets;
  /** Alarms held at once. @default 250 */
  readonly limit?: number;
  /** How long an alarm that was rung may take to be answered, before it is rung again. Milliseconds. @default 30_000 */
  readonly graceMs?: number;
}

export interface AlarmClockStats extends AlarmRingerStats {
  readonly phase: 'listening' | 'failing';
  /** Milliseconds since the store last showed alarms, or that there are none: a few thousand at most when all is well. */
  readonly idleMs: number;
  /** Why the store could not be followed; undefined once it can. */
  readonly lastError: string | undefined;
  /** How often the store was asked, and how often it had something to show. */
  readonly windows: number;
  readonly views: number;
  /** How often work may have been lost; see `StoreGap`. */
  readonly gaps: number;
  /** Alarms that are due soon. */
  readonly held: number;
  /** Alarms that were rung within twice the grace time, answered or not. */
  readonly remembered: number;
}

/** The store is asked every few seconds however long it is away: 10 ms doubled nine times. */
const LAST_BACKOFF = 10;

/**
 * Rings alarms at their time: it follows those that are due soon, and sleeps until the first of them.
 *
 * Guarantees: an alarm is rung after its time by the store's clock, never before; the oldest first; none twice within
 * the grace time unless it has changed; never faster than the rate. The time of this machine decides nothing.
 * It is also the one that notices when alarms were lost with the store, or messages while it was away; see `StoreGap`.
 *
 * Does not guarantee: that each alarm is rung. This process may be away; `sweep` is the net.
 */
export class AlarmClock {
  readonly #options: AlarmClockOptions;
  readonly #table: AlarmTable;
  readonly #ringer: AlarmRinger;
  /** By how much the store's time is ahead of our monotonic clock, or a little less: counted from what it last told. */
  #storeAheadMs = 0;
  #heardAt: number;
  #answeredAt: number;
  #epoch: string | undefined;
  #gaps = 0;
  #lastError: string | undefined;
  #windows = 0;
  #views = 0;
  #nextWindow: () => void = () => undefined;

  constructor(options: AlarmClockOptions) {
    const { ringsPerSecond = 500, limit = 250, graceMs = 30_000, budgets = new TenantBudgets() } = options;
    this.#options = options;
    this.#table = new AlarmTable({ limit, graceMs });
    this.#ringer = new AlarmRinger({
      ...options,
      ringsPerSecond,
      budgets,
      table: this.#table,
      storeNow: () => this.#storeNow(),
      onSpent: () => this.#nextWindow(),
    });
    this.#heardAt = this.#answeredAt = options.clock.monotonic();
  }

  /** Rings until `signal` aborts; resolves when what is under way has been taken by the broker, or two seconds later. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#listen(signal), this.#ringer.run(signal)]);
  }

  stats(): AlarmClockStats {
    return {
      phase: this.#lastError === undefined ? 'listening' : 'failing',
      idleMs: this.#options.clock.monotonic() - this.#heardAt,
      lastError: this.#lastError,
      windows: this.#windows,
      views: this.#views,
      gaps: this.#gaps,
      ...this.#table.size,
      ...this.#ringer.stats(),
    };
  }

  /** Window after window, whatever becomes of one: that is also how a stream that broke or fell silent is left. */
  async #listen(signal: AbortSignal): Promise<void> {
    const { clock, random, logger } = this.#options;
    let failures = 0;
    while (!signal.aborted) {
      try {
        await this.#follow(signal);
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        failures = Math.min(failures + 1, LAST_BACKOFF);
        // Once for an outage, not for each attempt.
        if (this.#lastError === undefined) logger.warn('alarms cannot be followed', { error });
        this.#lastError = messageOf(error);
        await clock.sleep(backoffMs(failures, random.fraction()), signal).catch(() => undefined);
      }
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const { source, clock } = this.#options;
    const { nowMs, epoch } = await source.state(signal);
    this.#storeAheadMs = nowMs - clock.monotonic();
    this.#lookForGap(epoch);
    this.#windows += 1;
    const window = this.#table.open(this.#storeNow());
    const over = new AbortController();
    this.#nextWindow = () => over.abort();
    const timer = clock.sleep(WINDOW_MS, over.signal).then(this.#nextWindow, () => undefined);
    const viewsBefore = this.#views;
    try {
      for await (const { alarms, nowMs } of source.follow(window, AbortSignal.any([signal, over.signal]))) {
        this.#heard();
        // A view may have taken its time to get here: the one that travelled fastest tells best how late it is there.
        this.#storeAheadMs = Math.max(this.#storeAheadMs, nowMs - clock.monotonic());
        this.#table.show(alarms, this.#storeNow());
        this.#ringer.wake();
      }
    } finally {
      over.abort();
      await timer;
    }
    if (this.#views > viewsBefore || signal.aborted) return;
    throw new TransientError('STORE_SILENT', `no alarms were shown within ${WINDOW_MS} ms`);
  }

  #lookForGap(epoch: string): void {
    const { clock, logger, onGap } = this.#options;
    const now = clock.monotonic();
    const gap = gapBetween({ epoch: this.#epoch, silentMs: now - this.#answeredAt }, epoch);
    this.#epoch = epoch;
    this.#answeredAt = now;
    if (gap === undefined) return;
    this.#gaps += 1;
    logger.warn('work may be lost with the store: every object is rung', { gap });
    onGap(gap);
  }

  #heard(): void {
    this.#views += 1;
    this.#heardAt = this.#options.clock.monotonic();
    if (this.#lastError === undefined) return;
    this.#lastError = undefined;
    this.#options.logger.info('alarms are followed again');
  }

  #storeNow(): number {
    return this.#options.clock.monotonic() + this.#storeAheadMs;
  }
}
