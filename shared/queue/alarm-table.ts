import { Agenda } from '../watch/agenda.ts';
import { type Alarm, type ItemKey, wasLeft } from './work-item.ts';

/** Where an alarm stands in the store's order: by time, and by id within one time. */
export interface AlarmPosition {
  /** When it rings, in the store's time. Epoch milliseconds. */
  readonly wakeAt: number;
  /** The store's own name of the item. */
  readonly id: string;
}

export interface UpcomingAlarm extends AlarmPosition {
  readonly key: ItemKey;
  readonly reason: Alarm['reason'];
}

/** A part of the alarms: few enough to be held in memory, near enough to be worth it. */
export interface AlarmWindow {
  /** Only alarms after this one. Absent: from the earliest. */
  readonly after?: AlarmPosition;
  /** The latest `wakeAt`, in the store's time. */
  readonly untilMs: number;
  /** At most so many, the earliest. */
  readonly limit: number;
}

export interface AlarmTableOptions {
  /** Alarms held at once. */
  readonly limit: number;
  /** How long an alarm that was rung may take to be answered. It is rung again after that, before twice as long. */
  readonly graceMs: number;
}

/**
 * How long the first ring for what a dead holder left may take to be answered: the instance that gets it may be as dead.
 * Twice as long for each further ring, up to the grace time.
 */
const LEFT_GRACE_MS = 1_000;

/**
 * How far a window looks ahead: less than a living holder leaves of its lease. Each claim sets an alarm for its lease
 * (6 s), and each completion or renewal takes it away; at four seconds none of them is ever looked at, and what is left
 * of them are those who died.
 */
const HORIZON_MS = 4_000;

/** How long a window is looked through. What is set for a later time than the window's end is in the next one in time. */
export const WINDOW_MS = 3_000;

/** An alarm is stored after its time was read: this much later nothing new comes up. */
const SETTLED_MS = 5_000;

/**
 * What is pending, what is due, and where to look next. All times are the store's.
 *
 * Windows follow each other from the earliest alarm on. What was rung and is not answered yet would fill them, so it is
 * passed over: a window begins behind it, and from the beginning again once a grace time has passed. So a backlog of
 * any size is rung in order and once, and alarms that nobody answers keep no others from being rung.
 *
 * Bounded: the alarms of one window, and the ids of what was rung within twice the grace time.
 */
export class AlarmTable {
  readonly #options: AlarmTableOptions;
  /** By id, in the order in which they were rung. */
  readonly #rung = new Map<string, Rung>();
  #shown: readonly UpcomingAlarm[] = [];
  #agenda = new Agenda<UpcomingAlarm>();
  #after: AlarmPosition | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;

  constructor(options: AlarmTableOptions) {
    this.#options = options;
  }

  /** How many alarms are held, and of how many it is known that they were rung. */
  get size(): { readonly held: number; readonly remembered: number } {
    return { held: this.#shown.length, remembered: this.#rung.size };
  }

  /** When the next alarm is due; undefined when none of those held will be. */
  get nextAt(): number | undefined {
    return this.#agenda.nextAt;
  }

  /** Whether there is nothing left to ring in a window that may hide others: time for the next one. */
  isSpent(nowMs: number): boolean {
    this.#forget(nowMs);
    return this.#isFull() && this.#shown.every((alarm) => this.#isAwaited(alarm, nowMs));
  }

  /** Where to look from now on. What is held stays due until the new window is shown. */
  open(nowMs: number): AlarmWindow {
    const spent = this.isSpent(nowMs);
    if (!this.#isFull() && nowMs - this.#startedAt >= this.#options.graceMs) {
      this.#after = undefined;
      this.#startedAt = nowMs;
    } else {
      for (const alarm of this.#shown) {
        const settled = spent || alarm.wakeAt <= nowMs - SETTLED_MS;
        if (!settled || !this.#isAwaited(alarm, nowMs)) break;
        this.#after = { wakeAt: alarm.wakeAt, id: alarm.id };
      }
    }
    this.#shown = [];
    const window = { untilMs: nowMs + HORIZON_MS, limit: this.#options.limit };
    return this.#after === undefined ? window : { ...window, after: this.#after };
  }

  /** Takes what the window shows now, earliest first, in place of what it showed before. */
  show(alarms: readonly UpcomingAlarm[], nowMs: number): void {
    this.#forget(nowMs);
    this.#shown = alarms;
    this.#agenda = new Agenda();
    for (const alarm of alarms) this.#agenda.add(this.#rungOf(alarm)?.againAt ?? alarm.wakeAt, alarm);
  }

  /** The alarm that has been due for longest. From now on it counts as rung. */
  take(nowMs: number): UpcomingAlarm | undefined {
    const alarm = this.#agenda.take(nowMs);
    if (alarm === undefined) return undefined;
    const times = (this.#rungOf(alarm)?.times ?? 0) + 1;
    this.#rung.delete(alarm.id);
    this.#rung.set(alarm.id, {
      wakeAt: alarm.wakeAt,
      times,
      againAt: nowMs + this.#graceOf(alarm, times),
      forgottenAt: nowMs + 2 * this.#options.graceMs,
    });
    return alarm;
  }

  /** Takes back an alarm that could not be rung: it is due again. */
  giveBack(alarm: UpcomingAlarm): void {
    if (this.#rung.get(alarm.id)?.wakeAt !== alarm.wakeAt) return;
    this.#rung.delete(alarm.id);
    this.#agenda.add(alarm.wakeAt, alarm);
  }

  #isFull(): boolean {
    return this.#shown.length >= this.#options.limit;
  }

  /** Whether it was rung, and is not due again yet. */
  #isAwaited(alarm: UpcomingAlarm, nowMs: number): boolean {
    const rung = this.#rungOf(alarm);
    return rung !== undefined && rung.againAt > nowMs;
  }

  /** Undefined when it was not rung lately, or has changed since. */
  #rungOf({ id, wakeAt }: AlarmPosition): Rung | undefined {
    const rung = this.#rung.get(id);
    return rung?.wakeAt === wakeAt ? rung : undefined;
  }

  #graceOf({ reason }: UpcomingAlarm, times: number): number {
    const { graceMs } = this.#options;
    return wasLeft(reason) ? Math.min(graceMs, LEFT_GRACE_MS * 2 ** (times - 1)) : graceMs;
  }

  #forget(nowMs: number): void {
    for (const [id, { forgottenAt }] of this.#rung) {
      if (forgottenAt > nowMs) return;
      this.#rung.delete(id);
    }
  }
}

interface Rung {
  readonly wakeAt: number;
  /** How often, in a row. */
  readonly times: number;
  readonly againAt: number;
  readonly forgottenAt: number;
}
