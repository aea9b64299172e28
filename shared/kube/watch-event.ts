import type { StoredMeta } from './object.ts';

/** One line of a metadata watch, in the wire's spelling. */
export type WatchEvent =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly meta: StoredMeta }
  /** `initialEventsEnd` closes the list that a WatchList stream begins with (KEP-3157). */
  | { readonly type: 'BOOKMARK'; readonly resourceVersion: string; readonly initialEventsEnd: boolean };
