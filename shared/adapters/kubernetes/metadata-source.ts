import { ApiError } from '../../kube/api-error.ts';
import { formatGroupKind, type Kind } from '../../kube/kind.ts';
import type { StoredMeta } from '../../kube/object.ts';
import { WatchExpiredError } from '../../kube/watch-error.ts';
import type { WatchEvent } from '../../kube/watch-event.ts';
import type { MetadataList, MetadataSource, WatchStart } from '../../ports/metadata-source.ts';
import type { Random } from '../../ports/random.ts';
import { linesOf } from './lines.ts';
import { collectionPath } from './paths.ts';
import type { Transport } from './transport.ts';
import { metaOf, parseEvent, type WireObject } from './watch-line.ts';

/** The two differ: with the watch's, a list is refused; with the list's, a watch ends at once and silently. */
const ACCEPT_LIST = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';
const ACCEPT_WATCH = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';

const PAGE_SIZE = 500;
/** A list whose pages expire again and again is not going to end. */
const LIST_RESTARTS = 3;

/** The server ends a watch after this time; spread, so that many watches do not return together (client-go). */
const WATCH_SECONDS = { least: 300, spread: 300 };

export interface KubernetesMetadataSourceOptions {
  readonly transport: Transport;
  readonly random: Random;
}

/** Metadata of a cluster behind its API server, of all namespaces. */
export class KubernetesMetadataSource implements MetadataSource {
  readonly #transport: Transport;
  readonly #random: Random;

  constructor({ transport, random }: KubernetesMetadataSourceOptions) {
    this.#transport = transport;
    this.#random = random;
  }

  async list(kind: Kind, signal: AbortSignal): Promise<MetadataList> {
    for (let restarts = 0; ; restarts++) {
      try {
        return await this.#listOnce(kind, signal);
      } catch (error) {
        // The snapshot that the pages are read from was compacted away meanwhile: read from a newer one.
        if (!(error instanceof WatchExpiredError) || restarts === LIST_RESTARTS) throw error;
      }
    }
  }

  async version(kind: Kind, signal: AbortSignal): Promise<string> {
    return (await this.#listPage(kind, { limit: '1' }, signal)).metadata.resourceVersion;
  }

  async *watch(kind: Kind, start: WatchStart, signal: AbortSignal): AsyncIterable<WatchEvent> {
    const what = `watch ${formatGroupKind(kind)}`;
    const { least, spread } = WATCH_SECONDS;
    const request = {
      method: 'GET',
      path: collectionPath(kind),
      query: {
        watch: '1',
        // Also what makes the end of the initial events known: without it the mark never comes.
        allowWatchBookmarks: 'true',
        timeoutSeconds: String(Math.round(least + spread * this.#random.fraction())),
        ...startQuery(start),
      },
      accept: ACCEPT_WATCH,
      what,
    } as const;
    try {
      for await (const line of linesOf(this.#transport.stream(request, signal))) yield parseEvent(line, what);
    } catch (error) {
      throw expiredOr(error);
    }
  }

  async #listOnce(kind: Kind, signal: AbortSignal): Promise<MetadataList> {
    const items: StoredMeta[] = [];
    for (let token: string | undefined; ; ) {
      const more = token === undefined ? {} : { continue: token };
      const page = await this.#listPage(kind, { limit: String(PAGE_SIZE), ...more }, signal);
      for (const item of page.items ?? []) items.push(metaOf(item));
      // An empty page is not the end, only a missing token is.
      if (!page.metadata.continue) return { items, resourceVersion: page.metadata.resourceVersion };
      token = page.metadata.continue;
    }
  }

  async #listPage(kind: Kind, query: Readonly<Record<string, string>>, signal: AbortSignal): Promise<WireList> {
    const request = {
      method: 'GET',
      path: collectionPath(kind),
      query,
      accept: ACCEPT_LIST,
      what: `list ${formatGroupKind(kind)}`,
    } as const;
    try {
      const { body } = await this.#transport.call(request, signal);
      return body as WireList;
    } catch (error) {
      throw expiredOr(error);
    }
  }
}

interface WireList {
  readonly metadata: { readonly resourceVersion: string; readonly continue?: string };
  readonly items?: readonly WireObject[];
}

function startQuery(start: WatchStart): Readonly<Record<string, string>> {
  switch (start.from) {
    case 'list':
      return { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan' };
    case 'version':
      return { resourceVersion: start.resourceVersion };
  }
}

function expiredOr(error: unknown): unknown {
  const isExpired = error instanceof ApiError && error.status.code === 410;
  return isExpired ? new WatchExpiredError(error.message, { cause: error }) : error;
}
