import type { Kind } from '../kube/kind.ts';
import type { StoredMeta } from '../kube/object.ts';
import type { WatchEvent } from '../kube/watch-event.ts';

export interface MetadataList {
  readonly items: readonly StoredMeta[];
  readonly resourceVersion: string;
}

export type WatchStart =
  /** Streams what exists first, closed by a bookmark with `initialEventsEnd` (KEP-3157); needs only the verb `watch`. */
  | { readonly from: 'list' }
  /** Streams what happened after this resourceVersion. */
  | { readonly from: 'version'; readonly resourceVersion: string };

/**
 * Lists and watches metadata only: specs and Secret data never travel.
 *
 * Errors: `WatchExpiredError` when the resourceVersion is too old (as status or in the stream), `ApiError` for every
 * other refusal, `TransientError` for a stream that broke, went silent, or could not be parsed.
 */
export interface MetadataSource {
  list(kind: Kind, signal: AbortSignal): Promise<MetadataList>;
  /** The resourceVersion that the store is at now; costs no more than one object. */
  version(kind: Kind, signal: AbortSignal): Promise<string>;
  /** Ends without error when the server closed the stream. */
  watch(kind: Kind, start: WatchStart, signal: AbortSignal): AsyncIterable<WatchEvent>;
}
