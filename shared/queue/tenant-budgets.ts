import { Pace } from './pace.ts';
import type { ItemKey } from './work-item.ts';

/** Whose budget an object is counted to: its namespace, in its cluster. Cluster-scoped objects share one. */
export function tenantOf({ cluster, namespace }: Pick<ItemKey, 'cluster' | 'namespace'>): string {
  return `${cluster}/${namespace}`;
}

/** A tenant that asks for more than its budget, from its first such request until its budget is full again. */
export type TenantNews =
  | { readonly kind: 'over-budget'; readonly tenant: string }
  /** @prop demoted how many of its messages went to the background */
  | { readonly kind: 'within-budget'; readonly tenant: string; readonly demoted: number };

/** So much may be used at once: the budget of one second. */
const BURST_MS = 1_000;
const PER_SECOND = 20;

/**
 * How many messages of each tenant go before the background: those of a second at once, then an even rate. Times are
 * monotonic milliseconds.
 *
 * Bounded: a tenant whose budget is full is forgotten, so only those are known who rang in the last second, or so
 * much that their budget is not full yet.
 */
export class TenantBudgets {
  readonly #perSecond: number;
  /** Longest untouched first. Absent: full. */
  readonly #paces = new Map<string, Pace>();
  readonly #over = new Map<string, { told: boolean; demoted: number }>();
  #demoted = 0;

  /** @param perSecond @default 20 */
  constructor(perSecond: number = PER_SECOND) {
    this.#perSecond = perSecond;
  }

  /** How many tenants are known. */
  get size(): number {
    return this.#paces.size;
  }

  /** Tenants over their budget, and all messages that went to the background for that. */
  get stats(): { readonly overBudget: number; readonly demoted: number } {
    return { overBudget: this.#over.size, demoted: this.#demoted };
  }

  /** When the tenant may send its next message. */
  nextAt(tenant: string): number {
    return this.#paces.get(tenant)?.nextAt ?? Number.NEGATIVE_INFINITY;
  }

  /** Takes one message out of the budget, if one is left. */
  take(tenant: string, nowMs: number): 'within' | 'over' {
    this.#forget(nowMs);
    if (this.nextAt(tenant) > nowMs) {
      if (!this.#over.has(tenant)) this.#over.set(tenant, { told: false, demoted: 0 });
      return 'over';
    }
    const pace = this.#paces.get(tenant) ?? new Pace(this.#perSecond, BURST_MS);
    this.#paces.delete(tenant);
    this.#paces.set(tenant, pace);
    pace.spend(nowMs);
    return 'within';
  }

  /** Counts a message of a tenant over its budget that went to the background. */
  demote(tenant: string): void {
    this.#demoted += 1;
    const over = this.#over.get(tenant);
    if (over !== undefined) over.demoted += 1;
  }

  /** What is worth a line since the last time: once for a tenant, however much it sends. */
  news(nowMs: number): readonly TenantNews[] {
    const news: TenantNews[] = [];
    for (const [tenant, over] of this.#over) {
      if (!over.told) news.push({ kind: 'over-budget', tenant });
      over.told = true;
      if (this.#paces.get(tenant)?.isRested(nowMs) === false) continue;
      this.#over.delete(tenant);
      news.push({ kind: 'within-budget', tenant, demoted: over.demoted });
    }
    return news;
  }

  #forget(nowMs: number): void {
    for (const [tenant, pace] of this.#paces) {
      if (!pace.isRested(nowMs)) return;
      this.#paces.delete(tenant);
    }
  }
}
