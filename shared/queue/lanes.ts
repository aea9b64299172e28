import type { Topic } from '../message/doorbell.ts';

/** A delivery on its way to a slot. Its identity is the object. */
export interface Passenger {
  readonly tenant: string;
  readonly topic: Topic;
}

export interface LanesOptions {
  /** Deliveries that are worked on at once. */
  readonly slots: number;
  /** Deliveries that may wait. */
  readonly room: number;
  /** A delivery of the background that has waited for so long counts like a change. Milliseconds. @default 5000 */
  readonly ageMs?: number;
}

const AGE_MS = 5_000;

interface Entry {
  readonly passenger: Passenger;
  readonly sinceMs: number;
  /** The round in which it is its tenant's turn. */
  readonly round: number;
}

/**
 * Who may work next in this process: changes before the background, and tenants in turn within each.
 *
 * Nobody may have more than what is left for all others: a tenant gets another slot only while more slots are free than
 * it holds, and so does the background as a whole; the same goes for places to wait in. So slots that never come free (a
 * plan that hangs) cost the others at most half of what they had, and there is always a slot for somebody new until
 * several tenants hang at once. The price: one tenant alone gets half of the slots.
 *
 * Guarantees: as long as slots come free, every delivery that waits gets one (P52). Nobody waits who may start.
 */
export class Lanes {
  readonly #slots: number;
  readonly #room: number;
  readonly #ageMs: number;
  readonly #running = new Set<Passenger>();
  /** In the order in which they came. */
  readonly #waiting = new Map<Passenger, Entry>();
  /** The round of the latest that started: who was away for a while begins there, neither ahead nor behind. */
  #round = 0;

  constructor({ slots, room, ageMs = AGE_MS }: LanesOptions) {
    this.#slots = slots;
    this.#room = room;
    this.#ageMs = ageMs;
  }

  get size(): { readonly running: number; readonly waiting: number } {
    return { running: this.#running.size, waiting: this.#waiting.size };
  }

  /** Lets the passenger start, or wait until a `leave` lets it; `full`: it must come again later. */
  enter(passenger: Passenger, nowMs: number): 'started' | 'waiting' | 'full' {
    if (fits(passenger, this.#running, this.#slots)) {
      this.#running.add(passenger);
      return 'started';
    }
    if (!fits(passenger, this.#waiting.keys(), this.#room)) return 'full';
    this.#waiting.set(passenger, { passenger, sinceMs: nowMs, round: this.#roundOf(passenger) });
    return 'waiting';
  }

  /** The passenger is done, or waits no more. @returns who starts now, in this order */
  leave(passenger: Passenger, nowMs: number): readonly Passenger[] {
    this.#running.delete(passenger);
    this.#waiting.delete(passenger);
    const started: Passenger[] = [];
    for (let next = this.#next(nowMs); next !== undefined; next = this.#next(nowMs)) {
      this.#waiting.delete(next.passenger);
      this.#running.add(next.passenger);
      this.#round = Math.max(this.#round, next.round);
      started.push(next.passenger);
    }
    return started;
  }

  #next(nowMs: number): Entry | undefined {
    let best: Entry | undefined;
    for (const entry of this.#waiting.values()) {
      if (!fits(entry.passenger, this.#running, this.#slots)) continue;
      if (best === undefined || this.#isBefore(entry, best, nowMs)) best = entry;
    }
    return best;
  }

  #isBefore(a: Entry, b: Entry, nowMs: number): boolean {
    const [first, second] = [this.#isUrgent(a, nowMs), this.#isUrgent(b, nowMs)];
    return first === second ? a.round < b.round : first;
  }

  #isUrgent({ passenger, sinceMs }: Entry, nowMs: number): boolean {
    return passenger.topic === 'changes' || nowMs - sinceMs >= this.#ageMs;
  }

  /** One after the last of its tenant that waits in the same lane. */
  #roundOf({ tenant, topic }: Passenger): number {
    let round = this.#round;
    for (const { passenger, round: taken } of this.#waiting.values()) {
      if (passenger.tenant === tenant && passenger.topic === topic) round = Math.max(round, taken);
    }
    return round + 1;
  }
}

/** Whether more is free of `size` than those hold who are like the passenger. */
function fits({ tenant, topic }: Passenger, holders: Iterable<Passenger>, size: number): boolean {
  let [free, ofTenant, ofBackground] = [size, 0, 0];
  for (const holder of holders) {
    free -= 1;
    if (holder.tenant === tenant) ofTenant += 1;
    if (holder.topic === 'background') ofBackground += 1;
  }
  return free > ofTenant && (topic === 'changes' || free > ofBackground);
}
