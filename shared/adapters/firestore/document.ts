import { createHash } from 'node:crypto';
import type { DocumentData, DocumentReference, Firestore, Timestamp } from '@google-cloud/firestore';
import { TerminalError } from '../../errors.ts';
import { formatGroupKind } from '../../kube/kind.ts';
import type { ItemKey, WorkItem } from '../../queue/work-item.ts';

/** Grows when a field changes its meaning; a field may be added without. */
const FORMAT = 1;

/**
 * All values of the field `shard`. Alarms are indexed as (shard, wakeAt): times alone would put all writes into one
 * index range, which takes 500 a second.
 */
export const SHARDS: readonly number[] = Array.from({ length: 16 }, (_, shard) => shard);

/** Any `wakeAt` is above this, and null is not: it is of another type. */
export const NO_ALARM = new Date(0);

/** `clusters/{cluster}/items`: each cluster's items can be listed, exported and deleted on their own. */
export function itemsOf(db: Firestore, cluster: string) {
  return db.collection('clusters').doc(cluster).collection('items');
}

/** The item's document. Its id is a hash, because neighbouring ids would be a hot range. */
export function documentOf(db: Firestore, key: ItemKey): DocumentReference {
  return itemsOf(db, key.cluster).doc(hashOf(key));
}

/**
 * One top-level field per field of the item, so that the console shows it as people know it.
 *
 * @param nonce must be new in every write: a document that does not change keeps its update time, and then two swaps
 *   that compare with it would both succeed
 */
export function toDocument(item: WorkItem, nonce: string): DocumentData {
  return {
    ...item,
    format: FORMAT,
    nonce,
    shard: Number.parseInt(hashOf(item.key).slice(0, 1), 16),
    // Rounded up: an alarm that is rung early is no news, and would wait for the next look.
    wakeAt: item.alarm === null ? null : new Date(Math.ceil(item.alarm.wakeAt)),
  };
}

/** The fields that were added since the format is this one, as they are read where they are missing. */
const ADDED: Pick<WorkItem, 'bucket' | 'unfinished' | 'unfenced'> = { bucket: null, unfinished: null, unfenced: [] };

/** @throws {TerminalError} when a build of another format has written the document */
export function fromDocument(data: DocumentData): WorkItem {
  const { format, nonce: _nonce, shard: _shard, wakeAt: _wakeAt, ...item } = data;
  if (format !== FORMAT) {
    throw new TerminalError(
      'UNKNOWN_FORMAT',
      `cannot read a work item of format ${format}: this build knows ${FORMAT}`,
    );
  }
  // Sound: a document of this format was written by `toDocument`, maybe before it knew all of these fields.
  return { ...ADDED, ...item } as WorkItem;
}

/** Stands behind all items in their order, which are hexadecimal. */
export const MARKER_ID = 'marker';

export const MARKER: DocumentData = { about: 'Tells by its update time that the items around it were not lost since.' };

/** The document that stands for the content of a cluster's items: among them, so that it goes when they go. */
export function markerOf(db: Firestore, cluster: string): DocumentReference {
  return itemsOf(db, cluster).doc(MARKER_ID);
}

/** Epoch milliseconds, with microseconds as fraction. */
export function msOf({ seconds, nanoseconds }: Timestamp): number {
  return seconds * 1000 + nanoseconds / 1e6;
}

/** A document's update time, exact. */
export function revisionOf({ seconds, nanoseconds }: Timestamp): string {
  return `${seconds}.${String(nanoseconds).padStart(9, '0')}`;
}

function hashOf(key: ItemKey): string {
  const identity = [key.controller, formatGroupKind(key), key.namespace, key.name].join('|');
  return createHash('sha256').update(identity).digest('hex');
}
