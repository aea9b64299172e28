import type { Delivery } from '../shared/message/push.ts';
import type { Clock } from '../shared/ports/clock.ts';
import type { Logger } from '../shared/ports/logger.ts';
import { Lanes, type LanesOptions, type Passenger } from '../shared/queue/lanes.ts';
import { tenantOf } from '../shared/queue/tenant-budgets.ts';

export interface TurnsOptions extends LanesOptions {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Makes deliveries wait for their turn, as `Lanes` says. */
export class Turns {
  readonly #lanes: Lanes;
  readonly #clock: Clock;
  readonly #log: Logger;
  /** For each that waits: tells it whether it starts. */
  readonly #waiting = new Map<Passenger, (starts: boolean) => void>();
  #turnedAway = 0;

  constructor({ clock, log, ...lanes }: TurnsOptions) {
    this.#lanes = new Lanes(lanes);
    this.#clock = clock;
    this.#log = log;
  }

  /**
   * Works on the delivery when it is its turn.
   *
   * The turn is for the whole delivery, also where the work queue only says that there is no news: a claim must not
   * wait, because its lease runs, and nobody knows before the claim whether there will be one.
   *
   * @param signal gives the wait up, not the work
   * @returns undefined when there is no room, or the wait was given up: the message must come again later
   */
  async take<T>({ doorbell, topic }: Delivery, signal: AbortSignal, work: () => Promise<T>): Promise<T | undefined> {
    const passenger: Passenger = { tenant: tenantOf(doorbell.key), topic };
    const place = this.#lanes.enter(passenger, this.#clock.monotonic());
    if (place === 'full') return this.#turnAway();
    if (place === 'waiting' && !(await this.#starts(passenger, signal))) return this.#leave(passenger);
    try {
      return await work();
    } finally {
      this.#leave(passenger);
    }
  }

  /** Turns away everybody who waits, so that somebody else gets them. */
  stop(): void {
    for (const tell of this.#waiting.values()) tell(false);
  }

  #starts(passenger: Passenger, signal: AbortSignal): Promise<boolean> {
    return new Promise((resolve) => {
      const giveUp = (): void => tell(false);
      const tell = (starts: boolean): void => {
        signal.removeEventListener('abort', giveUp);
        this.#waiting.delete(passenger);
        resolve(starts);
      };
      this.#waiting.set(passenger, tell);
      signal.addEventListener('abort', giveUp, { once: true });
      if (signal.aborted) giveUp();
    });
  }

  #leave(passenger: Passenger): undefined {
    for (const next of this.#lanes.leave(passenger, this.#clock.monotonic())) this.#waiting.get(next)?.(true);
    if (this.#turnedAway === 0 || this.#lanes.size.waiting > 0) return;
    this.#log.info('room for deliveries again', { turnedAway: this.#turnedAway });
    this.#turnedAway = 0;
  }

  #turnAway(): undefined {
    // Once until nobody waits any more, not for each of them.
    if (this.#turnedAway === 0) this.#log.warn('no room for more deliveries', this.#lanes.size);
    this.#turnedAway += 1;
  }
}
