import type { ObjectRef } from '../kube/key.ts';
import type { Version } from '../kube/version.ts';
import type { ItemKey } from '../queue/work-item.ts';

/**
 * "Look at this object." A few hundred bytes, whatever the object's size.
 *
 * Everything but `key` is a hint: it lets the work queue tell news from echoes, and never reaches a plan.
 */
export interface Doorbell {
  readonly key: ItemKey;
  readonly news: News;
  /** The object's uid, when the sender knows it: another one than before means it was recreated. */
  readonly uid?: string;
  /** The object's `metadata.generation`, when the sender knows it: a new one ends quarantine and backoff. */
  readonly generation?: number;
  /** The object itself was seen to be deleted: its item is forgotten, also one in quarantine. */
  readonly deleted?: boolean;
  /** For people: `MODIFIED Deployment default/web`. At most 200 characters. */
  readonly trigger: string;
}

export type News =
  /** These states of the object or its children are new to the sender. */
  | { readonly kind: 'versions'; readonly versions: readonly Heard[] }
  /**
   * After a relist: the object (first) and all children of it that exist. A known child that is missing here was
   * deleted while nobody watched.
   */
  | { readonly kind: 'census'; readonly versions: readonly Heard[] }
  /** The item's own alarm is due. */
  | { readonly kind: 'alarm' }
  /** Always worth a run: more changed than a message holds, or somebody asked for it. */
  | { readonly kind: 'unknown' };

/** A state of the object, or of a child. */
export interface Heard extends Version {
  /** The child's name, while it exists: an item that does not know it, because it was lost, has it in its inventory then. */
  readonly child?: ObjectRef;
}

/** More versions than this do not go into a message; it then says `unknown`. */
export const MAX_VERSIONS = 8;

/** `changes` carries what users did; `background` relists, alarms and resyncs, which never delay users. */
export type Topic = 'changes' | 'background';
