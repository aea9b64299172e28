import type { DueAlarm, Page, ReadItem, Revision, Swap, WorkStore } from '../../ports/work-store.ts';
import type { ItemKey, WorkItem } from '../../queue/work-item.ts';
import { EmbeddedClient, type EmbeddedClientOptions } from './client.ts';

/** The work items of the embedded server. */
export class EmbeddedWorkStore implements WorkStore {
  readonly #client: EmbeddedClient;

  constructor(options: EmbeddedClientOptions) {
    this.#client = new EmbeddedClient(options);
  }

  async read(key: ItemKey, signal: AbortSignal): Promise<ReadItem> {
    const { item, revision, nowMs } = await this.#client.call('work-items/read', { key }, signal);
    return { item, revision, nowMs };
  }

  write(item: WorkItem, expected: Revision | undefined, signal: AbortSignal): Promise<Swap> {
    const request = expected === undefined ? { item } : { item, expected };
    return this.#client.call('work-items/write', request, signal);
  }

  remove(key: ItemKey, expected: Revision, signal: AbortSignal): Promise<Swap['kind']> {
    return this.#client.call('work-items/remove', { key, expected }, signal);
  }

  due(limit: number, signal: AbortSignal): Promise<readonly DueAlarm[]> {
    return this.#client.call('work-items/due', { limit }, signal);
  }

  list(cluster: string, page: Page, signal: AbortSignal): Promise<readonly WorkItem[]> {
    return this.#client.call('work-items/list', { cluster, page }, signal);
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
