import { isNotNewer } from '../kube/version.ts';
import type { Heard, News, Topic } from '../message/doorbell.ts';
import { formatItemKey } from '../queue/work-item.ts';
import { Agenda } from './agenda.ts';
import { newsOf, type Ring } from './mapping.ts';

/** A ring that is being sent; hand it back to `delivered` or `failed`. */
export interface Parcel {
  readonly ring: Ring;
  /** When the oldest change in it was offered. */
  readonly sinceMs: number;
  /** How often it has failed before, in a row. */
  readonly failures: number;
}

/** The default window: long enough for the burst of one `kubectl apply`, too short to be felt. */
const WINDOW_MS = 25;

/**
 * Bounds what is sent: the first ring of a quiet object goes at once, what follows within the window is merged and
 * goes when the window closes. Rules and bookkeeping only; the caller sends, and says what time it is (monotonic).
 *
 * Guarantees: of one object at most one ring is under way, and at most one waits, however fast it changes and however
 * long the broker is away. So memory is bounded by the number of objects. What was offered is merged, never dropped.
 */
export class Coalescer {
  readonly #windowMs: number;
  readonly #slots = new Map<string, Slot>();
  readonly #agendas: Readonly<Record<Topic, Agenda<Turn>>> = { changes: new Agenda(), background: new Agenda() };

  constructor(windowMs: number = WINDOW_MS) {
    this.#windowMs = windowMs;
  }

  /** Objects that wait, are under way, or rest in their window. */
  get size(): number {
    return this.#slots.size;
  }

  offer(ring: Ring, nowMs: number): void {
    const id = formatItemKey(ring.doorbell.key);
    const slot = this.#slots.get(id);
    if (slot === undefined) {
      const fresh: Slot = { waiting: ring, sinceMs: nowMs, sending: false, dueAt: nowMs, failures: 0, turn: undefined };
      this.#slots.set(id, fresh);
      this.#plan(id, fresh);
      return;
    }
    const { waiting } = slot;
    if (waiting === undefined) slot.sinceMs = nowMs;
    slot.waiting = waiting === undefined ? ring : merge(waiting, ring);
    if (!slot.sending && slot.waiting.topic !== waiting?.topic) this.#plan(id, slot);
  }

  /** The next ring of the topic that is due; undefined when there is none. */
  take(topic: Topic, nowMs: number): Parcel | undefined {
    for (let turn = this.#agendas[topic].take(nowMs); turn !== undefined; turn = this.#agendas[topic].take(nowMs)) {
      const slot = this.#slots.get(turn.id);
      if (slot?.turn !== turn) continue; // It was planned anew since.
      const { waiting: ring, sinceMs, failures } = slot;
      if (ring === undefined) {
        this.#slots.delete(turn.id); // A window closed in which nothing came.
        continue;
      }
      slot.waiting = undefined;
      slot.sending = true;
      slot.dueAt = nowMs + this.#windowMs;
      return { ring, sinceMs, failures };
    }
    return undefined;
  }

  /** When `take` may have something for the topic. */
  nextAt(topic: Topic): number | undefined {
    return this.#agendas[topic].nextAt;
  }

  /** The broker has the ring. */
  delivered({ ring }: Parcel): void {
    const id = formatItemKey(ring.doorbell.key);
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    slot.sending = false;
    slot.failures = 0;
    this.#plan(id, slot);
  }

  /** The broker has not got the ring: it waits until `retryAtMs`, together with what came meanwhile. */
  failed({ ring, sinceMs, failures }: Parcel, retryAtMs: number): void {
    const id = formatItemKey(ring.doorbell.key);
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    slot.waiting = slot.waiting === undefined ? ring : merge(ring, slot.waiting);
    slot.sinceMs = sinceMs;
    slot.sending = false;
    slot.failures = failures + 1;
    slot.dueAt = retryAtMs;
    this.#plan(id, slot);
  }

  #plan(id: string, slot: Slot): void {
    slot.turn = { id };
    this.#agendas[slot.waiting?.topic ?? 'background'].add(slot.dueAt, slot.turn);
  }
}

/**
 * One ring that says what both said; `later` came after `earlier`, about the same object. The topic of users wins
 * over `background`, and so does its trigger.
 */
export function merge(earlier: Ring, later: Ring): Ring {
  const [a, b] = [earlier.doorbell, later.doorbell];
  const recreated = a.uid !== undefined && b.uid !== undefined && a.uid !== b.uid;
  const uid = b.uid ?? a.uid;
  const generation = recreated ? b.generation : greatest(a.generation, b.generation);
  const deleted = b.deleted === true || (a.deleted === true && !recreated);
  const telling = earlier.topic === 'changes' && later.topic === 'background' ? a : b;
  return {
    topic: telling === a ? earlier.topic : later.topic,
    doorbell: {
      key: b.key,
      news: recreated ? { kind: 'unknown' } : mergeNews(a.news, b.news),
      ...(uid === undefined ? {} : { uid }),
      ...(generation === undefined ? {} : { generation }),
      ...(deleted ? { deleted } : {}),
      trigger: telling.trigger,
    },
  };
}

interface Slot {
  waiting: Ring | undefined;
  sinceMs: number;
  sending: boolean;
  /** When the window closes, or the retry is due. */
  dueAt: number;
  failures: number;
  /** The entry of an agenda that stands for this slot; all others are outdated. */
  turn: Turn | undefined;
}

interface Turn {
  readonly id: string;
}

function mergeNews(earlier: News, later: News): News {
  if (!('versions' in earlier) || !('versions' in later)) return { kind: 'unknown' };
  // A census tells of everything that exists, so it covers what was said before it; a union would revive the deleted.
  if (later.kind === 'census') return later;
  const newest = new Map<string, Heard>(earlier.versions.map((version) => [version.uid, version]));
  for (const version of later.versions) {
    const known = newest.get(version.uid);
    if (known === undefined || !isNotNewer(version.resourceVersion, known.resourceVersion)) {
      newest.set(version.uid, version);
    }
  }
  return newsOf(earlier.kind, [...newest.values()]);
}

function greatest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}
