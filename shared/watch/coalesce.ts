import { isNotNewer } from '../kube/version.ts';
import type { Heard, News, Topic } from '../message/doorbell.ts';
import { Pace } from '../queue/pace.ts';
import { TenantBudgets, tenantOf } from '../queue/tenant-budgets.ts';
import { formatItemKey } from '../queue/work-item.ts';
import { Agenda } from './agenda.ts';
import { type Checkpoint, checkpointOf, earliest, type Origin } from './checkpoint.ts';
import { Excess } from './excess.ts';
import { newsOf, type Ring } from './mapping.ts';

/** A ring that is being sent; hand it back to `delivered` or `failed`. */
export interface Parcel {
  readonly ring: Ring;
  readonly origins: readonly Origin[];
  /** When the oldest change in it was offered. */
  readonly sinceMs: number;
  /** How often it has failed before, in a row. */
  readonly failures: number;
}

export interface CoalescerOptions {
  /** What follows the first ring of an object within this time is merged. Milliseconds. @default 25 */
  readonly windowMs?: number;
  /** @default 20 rings a second for each tenant */
  readonly budgets?: TenantBudgets;
  /** How many rings over their budget go to the background each second, of all tenants together. @default 100 */
  readonly demotedPerSecond?: number;
}

/** The default window: long enough for the burst of one `kubectl apply`, too short to be felt. */
const WINDOW_MS = 25;
const DEMOTED_PER_SECOND = 100;

/** An object that rings on after so many rings without a rest gets windows that double … */
const PATIENCE = 8;
/** … up to the pace that its bucket of runs allows in the long run. Milliseconds. */
const LONGEST_WINDOW_MS = 1_000;

/**
 * Bounds what is sent: the first ring of a quiet object goes at once, what follows within the window is merged and
 * goes when the window closes. An object that never rests gets longer windows, up to a second. Rules and bookkeeping
 * only; the caller sends, and says what time it is (monotonic).
 *
 * Guarantees: of one object at most one ring is under way, and at most one waits, however fast it changes and however
 * long the broker is away. So memory is bounded by the number of objects. What was offered is merged, never dropped.
 *
 * A change within its tenant's budget goes to `changes`. One above it waits here, where newer ones still join it: for
 * the next turn of its tenant in `changes`, or, if that comes first, in the background, where tenants take turns. Sent
 * at once it would stand in the broker's queue, before what others send later.
 */
export class Coalescer {
  readonly #windowMs: number;
  readonly #slots = new Map<string, Slot>();
  readonly #agendas: Readonly<Record<Topic, Agenda<Turn>>> = { changes: new Agenda(), background: new Agenda() };
  readonly #budgets: TenantBudgets;
  readonly #excess = new Excess<Turn>();
  readonly #demotions: Pace;

  constructor({ windowMs, budgets, demotedPerSecond }: CoalescerOptions = {}) {
    this.#windowMs = windowMs ?? WINDOW_MS;
    this.#budgets = budgets ?? new TenantBudgets();
    this.#demotions = new Pace(demotedPerSecond ?? DEMOTED_PER_SECOND);
  }

  /** Objects that wait, are under way, or rest in their window. */
  get size(): number {
    return this.#slots.size;
  }

  /** Objects that wait because their tenant is over its budget. */
  get heldBack(): number {
    return this.#excess.size;
  }

  /** @param origins where its news comes from @default nowhere: watching on from anywhere would not tell it again */
  offer(ring: Ring, nowMs: number, origins: readonly Origin[] = []): void {
    const id = formatItemKey(ring.doorbell.key);
    const slot = this.#slots.get(id);
    if (slot === undefined) {
      const fresh: Slot = {
        waiting: ring,
        origins,
        flying: [],
        sinceMs: nowMs,
        sending: false,
        dueAt: nowMs,
        failures: 0,
        rings: 0,
        turn: undefined,
      };
      this.#slots.set(id, fresh);
      this.#plan(id, fresh, tenantOf(ring.doorbell.key));
      return;
    }
    const { waiting } = slot;
    if (waiting === undefined) slot.sinceMs = nowMs;
    slot.waiting = waiting === undefined ? ring : merge(waiting, ring);
    slot.origins = earliest(slot.origins, origins);
    if (!slot.sending && slot.waiting.topic !== waiting?.topic) this.#plan(id, slot, tenantOf(ring.doorbell.key));
  }

  /** The next ring of the topic that is due; undefined when there is none. */
  take(topic: Topic, nowMs: number): Parcel | undefined {
    for (let turn = this.#agendas[topic].take(nowMs); turn !== undefined; turn = this.#agendas[topic].take(nowMs)) {
      const slot = this.#slots.get(turn.id);
      if (slot?.turn !== turn) continue; // It was planned anew since.
      const { waiting } = slot;
      if (waiting === undefined) {
        this.#slots.delete(turn.id); // A window closed in which nothing came.
        continue;
      }
      if (topic === 'background' || this.#isWithin(turn.tenant, nowMs)) return this.#parcel(slot, waiting, nowMs);
      this.#excess.add(turn.tenant, turn);
    }
    return this.#takeExcess(topic, nowMs);
  }

  /** When `take` may have something for the topic. */
  nextAt(topic: Topic): number | undefined {
    const { nextAt } = this.#agendas[topic];
    if (this.#excess.size === 0) return nextAt;
    return Math.min(nextAt ?? Number.POSITIVE_INFINITY, this.#excessAt(topic));
  }

  /** The broker has the ring. */
  delivered({ ring }: Parcel): void {
    const id = formatItemKey(ring.doorbell.key);
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    slot.sending = false;
    slot.flying = [];
    slot.failures = 0;
    this.#plan(id, slot, tenantOf(ring.doorbell.key));
  }

  /** The broker has not got the ring: it waits until `retryAtMs`, together with what came meanwhile. */
  failed({ ring, origins, sinceMs, failures }: Parcel, retryAtMs: number): void {
    const id = formatItemKey(ring.doorbell.key);
    const slot = this.#slots.get(id);
    if (slot === undefined) return;
    slot.waiting = slot.waiting === undefined ? ring : merge(ring, slot.waiting);
    slot.origins = earliest(origins, slot.origins);
    slot.flying = [];
    slot.sinceMs = sinceMs;
    slot.sending = false;
    slot.failures = failures + 1;
    slot.dueAt = retryAtMs;
    this.#plan(id, slot, tenantOf(ring.doorbell.key));
  }

  /** Up to where the broker has taken everything, of what was `heard` of each kind. */
  checkpoint(heard: ReadonlyMap<string, string>): Checkpoint {
    return checkpointOf(heard, this.#origins());
  }

  *#origins(): Generator<readonly Origin[]> {
    for (const { origins, flying } of this.#slots.values()) {
      yield origins;
      yield flying;
    }
  }

  #plan(id: string, slot: Slot, tenant: string): void {
    slot.turn = { id, tenant };
    this.#agendas[slot.waiting?.topic ?? 'background'].add(slot.dueAt, slot.turn);
  }

  /** Nobody overtakes what waits of its own tenant. */
  #isWithin(tenant: string, nowMs: number): boolean {
    return !this.#excess.has(tenant) && this.#budgets.take(tenant, nowMs) === 'within';
  }

  #takeExcess(topic: Topic, nowMs: number): Parcel | undefined {
    if (topic === 'background' && this.#demotions.nextAt > nowMs) return undefined;
    const may = (tenant: string) => topic === 'background' || this.#budgets.nextAt(tenant) <= nowMs;
    const turn = this.#excess.take(may);
    const slot = turn && this.#slots.get(turn.id);
    if (slot?.waiting === undefined || turn === undefined) return undefined;
    if (topic === 'changes') {
      this.#budgets.take(turn.tenant, nowMs);
    } else {
      this.#demotions.spend(nowMs);
      this.#budgets.demote(turn.tenant);
    }
    return this.#parcel(slot, { ...slot.waiting, topic }, nowMs);
  }

  #excessAt(topic: Topic): number {
    if (topic === 'background') return this.#demotions.nextAt;
    return Math.min(...this.#excess.tenants.map((tenant) => this.#budgets.nextAt(tenant)));
  }

  #parcel(slot: Slot, ring: Ring, nowMs: number): Parcel {
    const { origins } = slot;
    slot.waiting = undefined;
    slot.origins = [];
    slot.flying = origins;
    slot.sending = true;
    slot.rings += 1;
    slot.dueAt = nowMs + Math.min(LONGEST_WINDOW_MS, this.#windowMs * 2 ** Math.max(0, slot.rings - PATIENCE));
    return { ring, origins, sinceMs: slot.sinceMs, failures: slot.failures };
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
  /** Of what waits. */
  origins: readonly Origin[];
  /** Of what is being sent. */
  flying: readonly Origin[];
  sinceMs: number;
  sending: boolean;
  /** When the window closes, or the retry is due. */
  dueAt: number;
  failures: number;
  /** How many were sent without a window in which nothing came. */
  rings: number;
  /** The entry of an agenda that stands for this slot; all others are outdated. */
  turn: Turn | undefined;
}

interface Turn {
  readonly id: string;
  readonly tenant: string;
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
