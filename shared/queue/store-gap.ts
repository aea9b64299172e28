/** Why work may be lost though nothing else went wrong. */
export type StoreGap =
  /** The store is not the one that was known: alarms and backoffs, what was dirty, and inventories are gone. */
  | { readonly kind: 'emptied' }
  /** It did not answer for so long that messages may have run out of delivery attempts. */
  | { readonly kind: 'away'; readonly awayMs: number };

/** What is known of the store from the last time that it answered. */
export interface LastAnswer {
  /** Undefined when it never did. */
  readonly epoch: string | undefined;
  /** How long ago that was. Milliseconds. */
  readonly silentMs: number;
}

/**
 * Far above what is normal (it is asked every three seconds), and far below the time in which any retry policy uses
 * up its delivery attempts: twenty of them last two minutes locally, and longer in production. Milliseconds.
 */
const AWAY_MS = 15_000;

/** The gap between what is known of the store and its present epoch; undefined when nothing can be lost. */
export function gapBetween({ epoch: known, silentMs }: LastAnswer, epoch: string): StoreGap | undefined {
  if (known !== undefined && known !== epoch) return { kind: 'emptied' };
  return silentMs > AWAY_MS ? { kind: 'away', awayMs: Math.round(silentMs) } : undefined;
}
