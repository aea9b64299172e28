/** The store as one instance has it, watched: every change of an item is one that its author may make (I2, I6). */
import { isDeepStrictEqual } from 'node:util';
import type { DueAlarm, Page, ReadItem, Revision, Swap, WorkStore } from '../../shared/ports/work-store.ts';
import type { ItemKey, WorkItem } from '../../shared/queue/work-item.ts';

const NEVER = new AbortController().signal;

export class WatchedStore implements WorkStore {
  readonly #inner: WorkStore;
  readonly #author: string;
  readonly #report: (kind: 'problem' | 'lost race', what: string) => void;

  constructor(inner: WorkStore, author: string, report: (kind: 'problem' | 'lost race', what: string) => void) {
    this.#inner = inner;
    this.#author = author;
    this.#report = report;
  }

  read(key: ItemKey): Promise<ReadItem> {
    return this.#inner.read(key, NEVER);
  }

  async write(item: WorkItem, expected: Revision | undefined): Promise<Swap> {
    const before = await this.read(item.key);
    const swap = await this.#inner.write(item, expected, NEVER);
    if (swap.kind === 'lost') this.#report('lost race', item.key.name);
    const problem = swap.kind === 'stored' ? this.#problem(before, item) : undefined;
    if (problem !== undefined) this.#report('problem', `${this.#author}: ${problem}`);
    return swap;
  }

  async remove(key: ItemKey, expected: Revision): Promise<Swap['kind']> {
    const { item } = await this.read(key);
    const swap = await this.#inner.remove(key, expected, NEVER);
    if (swap === 'lost') this.#report('lost race', key.name);
    else if (!this.#holds(item)) this.#report('problem', `${this.#author}: I2: nobody but the holder ends a run`);
    return swap;
  }

  due(limit: number): Promise<readonly DueAlarm[]> {
    return this.#inner.due(limit, NEVER);
  }

  list(cluster: string, page: Page): Promise<readonly WorkItem[]> {
    return this.#inner.list(cluster, page, NEVER);
  }

  #problem({ item: before, nowMs }: ReadItem, next: WorkItem): string | undefined {
    const [had, has] = [before?.lease ?? null, next.lease];
    // Another claim of the same instance has no more rights than anybody else's.
    if (this.#holds(before) && (has === null || has.holderIdentity === had?.holderIdentity)) {
      return before === undefined || next.token >= before.token ? undefined : 'I2: tokens grow';
    }
    if (has !== null && has.token === had?.token) {
      // News may name children that the item does not know; those it knows stay.
      const children = next.children.slice(0, before?.children.length);
      const isNewsAtMost = isDeepStrictEqual({ ...next, dirty: before?.dirty, children }, before);
      return isNewsAtMost ? undefined : 'I2: nobody but the holder changes an item, except to leave news';
    }
    const isFree = had === null || nowMs >= had.renewTime + had.leaseDurationMs;
    if (!isFree) return 'I6: a lease is taken only after its end by the store’s clock';
    return has === null || before === undefined || has.token > before.token ? undefined : 'I2: tokens grow';
  }

  #holds(item: WorkItem | undefined): boolean {
    return item?.lease?.holderIdentity.startsWith(`${this.#author}.`) === true;
  }
}
