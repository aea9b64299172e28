import { formatRef, type ObjectRef } from '../kube/key.ts';
import type { Version } from '../kube/version.ts';

/** Which object of which cluster, for which controller. */
export interface ItemKey extends ObjectRef {
  readonly cluster: string;
  readonly controller: string;
}

/** `local/webapp WebApp.apps.driftless.dev default/web`: unique in a fleet. */
export function formatItemKey(key: ItemKey): string {
  return `${key.cluster}/${key.controller} ${formatRef(key)}`;
}

/**
 * All that must not be lost about one object: who works on it, what is dirty, when to wake up, how often it failed.
 *
 * Times are epoch milliseconds of the store's clock.
 */
export interface WorkItem {
  readonly key: ItemKey;
  /** The object this item is about; another uid means it was deleted and recreated, and state starts over. */
  readonly uid: string | null;
  readonly lease: Lease | null;
  /** The highest token ever given. */
  readonly token: number;
  readonly dirty: Dirty;
  readonly failures: number;
  readonly lastError: RunError | null;
  /** Why no run starts until the object's generation leaves this one. */
  readonly quarantine: Quarantine | null;
  readonly alarm: Alarm | null;
  /** The runs that are left to it; null while none was ever taken. */
  readonly bucket: Bucket | null;
  /** The claims since the last run that was completed, with the present one; null when there are none. */
  readonly unfinished: Unfinished | null;
  /**
   * Who lost the lease since somebody else had it: whoever claims next keeps them out first (strict mode; others just
   * forget them). Newest first, bounded.
   */
  readonly unfenced: readonly string[];
  readonly seen: Seen;
  readonly children: readonly ChildRecord[];
  /** The last runs, newest first. */
  readonly runs: readonly RunSummary[];
}

/** Named after the Lease of `coordination.k8s.io/v1`. */
export interface Lease {
  readonly holderIdentity: string;
  /** Fencing token: grows with every run, also across deletion of item or object; `nextToken` has the exception. */
  readonly token: number;
  readonly renewTime: number;
  readonly leaseDurationMs: number;
  /** The message that led to the claim: its redelivery is no news. */
  readonly messageId: string;
}

/** What arrived while the lease was held. */
export type Dirty =
  | { readonly kind: 'clean' }
  | { readonly kind: 'versions'; readonly versions: readonly Version[] }
  | { readonly kind: 'unknown' };

export interface RunError {
  readonly code: string;
  readonly message: string;
}

export interface Quarantine {
  readonly reason: string;
  readonly generation: number | null;
}

export interface Alarm {
  readonly wakeAt: number;
  readonly reason: 'lease' | 'backoff' | 'requeue' | 'rerun' | 'throttled' | 'redrive' | 'handover';
}

/**
 * Whether the alarm stands for work that a holder left in the middle of it. Such work goes first: it was under way, and
 * there is never more of it than there were runs that ended so.
 */
export function wasLeft(reason: Alarm['reason']): boolean {
  return reason === 'lease' || reason === 'handover';
}

/** A token bucket: what was in it at some time. It fills by itself; see `bucket.ts`. */
export interface Bucket {
  readonly tokens: number;
  readonly updatedAt: number;
}

/** Which object, in which generation; null what nobody has told yet. */
export interface Known {
  readonly uid: string | null;
  readonly generation: number | null;
}

/** Claims that no run has completed yet: of what those who rang knew, and how many in a row. */
export interface Unfinished extends Known {
  readonly claims: number;
}

/** What completed runs have looked at: tells echo from news. */
export interface Seen {
  readonly generation: number | null;
  /**
   * For each uid (the object and its children) the newest state that a plan has taken into account. Our own writes
   * count, because each was refused unless it followed directly on the state that was read.
   */
  readonly versions: Readonly<Record<string, string>>;
  /** Objects known to be gone for good: a uid never comes back. Bounded, newest first. */
  readonly gone: readonly string[];
}

/** A child that this item made, or is about to make: the intent is stored before the first create. */
export interface ChildRecord extends ObjectRef {
  /** Null while it does not exist: it is only intended, or it `mayReturn`. */
  readonly uid: string | null;
  /**
   * A lease was taken over while it was known here. Whoever lost that lease may have a create of it under way, which
   * no precondition stops: it is looked for at every run, also when it does not exist and nobody wants it any more.
   */
  readonly mayReturn?: true;
}

/** One finished run, in short. */
export interface RunSummary {
  /** Epoch milliseconds by the store's clock at the claim. */
  readonly at: number;
  readonly durationMs: number;
  readonly trigger: string;
  /** `created Deployment default/web`, … */
  readonly writes: readonly string[];
  readonly outcome: string;
}

export const NOTHING_SEEN: Seen = { generation: null, versions: {}, gone: [] };
