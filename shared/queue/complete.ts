import type { Retry } from '../errors.ts';
import { formatRef } from '../kube/key.ts';
import { retryDelayMs } from './backoff.ts';
import { take } from './bucket.ts';
import { CLEAN, strike } from './dirty.ts';
import { lastKnown } from './generation.ts';
import { afterRun, notLookedAt } from './inventory.ts';
import { isHolder, type LeasedItem, nextToken, withLease } from './lease.ts';
import type { Alarm, ChildRecord, Lease, RunError, RunSummary, Seen, WorkItem } from './work-item.ts';

/** What a run has to say at its end. */
export interface RunReport {
  /** The object that was read; the item's own when none was. */
  readonly uid: string | null;
  readonly generation: number | null;
  /** All that the run took into account: what it read, what it wrote, what it found gone. */
  readonly seen: Seen;
  /** The whole inventory: every child that exists or may exist, also when the run broke off. */
  readonly children: readonly ChildRecord[];
  readonly ending: Ending;
  readonly summary: RunSummary;
}

export type Ending =
  | { readonly kind: 'settled'; readonly requeueAfterMs?: number }
  | {
      readonly kind: 'failed';
      readonly error: RunError;
      readonly retry: Retry;
      /** How often this run tried, at least 1. */
      readonly attempts: number;
      /** A backoff is at least this long, because much else failed, too. @default 0 */
      readonly minDelayMs?: number;
    }
  /** The object does not exist any more. */
  | { readonly kind: 'gone' };

export interface CompleteContext {
  readonly nowMs: number;
  /** Whether the caller has budget left to run again at once. */
  readonly canRerun: boolean;
  /** Chance for the backoff, uniform in [0, 1). */
  readonly fraction: number;
}

export type Completion =
  /** The item is a successor's. Nothing was changed; the message must not be acknowledged. */
  | { readonly kind: 'lost' }
  | { readonly kind: 'idle'; readonly item: WorkItem }
  /** News arrived: run again under the renewed lease and its new token. */
  | { readonly kind: 'rerun'; readonly item: LeasedItem }
  /** News arrived, and there is no budget: ring. The item's alarm is due, in case that gets lost. */
  | { readonly kind: 'ring'; readonly item: WorkItem }
  | { readonly kind: 'wake'; readonly item: WorkItem; readonly wakeAt: number }
  | { readonly kind: 'quarantined'; readonly item: WorkItem }
  /** Remove the item. */
  | { readonly kind: 'gone' };

const MAX_RUNS = 5;
const MAX_GONE = 32;
const MAX_WRITES_TOLD = 20;
const MAX_MESSAGE_CHARACTERS = 1000;

/**
 * Decides what comes after a run that was given the lease `held`.
 *
 * News that the run has not seen comes first, whatever the ending: backoff and quarantine are for a world that stands
 * still. `item` is the item as stored now, with what arrived during the run.
 */
export function complete(
  item: WorkItem | undefined,
  held: Lease,
  report: RunReport,
  { nowMs, canRerun, fraction }: CompleteContext,
): Completion {
  if (!isHolder(item, held)) return { kind: 'lost' };

  const uid = report.ending.kind === 'gone' ? null : (report.uid ?? item.uid);
  const before = item.uid === null || item.uid === uid ? item : startOver(item, item.uid);
  const seen = together(before.seen, report);
  const next = remember(before, uid, seen, report);
  if (strike(item.dirty, seen).kind !== 'clean') return again(next, nowMs, canRerun);
  return end(next, report, nowMs, fraction);
}

/** News is worth a run like any other: it costs one of the bucket, and waits for it when there is none. */
function again(item: LeasedItem, nowMs: number, canRerun: boolean): Completion {
  const taking = take(item.bucket, nowMs);
  if (taking.kind === 'empty') return wake(item, { wakeAt: taking.tokenAt, reason: 'throttled' });
  return canRerun ? rerun({ ...item, bucket: taking.bucket }, nowMs) : ring(item, nowMs);
}

/**
 * Another object has taken the name: only the runs are worth keeping. What is still made for the old one is garbage by
 * its owner reference.
 */
function startOver(item: LeasedItem, goneUid: string): LeasedItem {
  const gone = [goneUid, ...item.seen.gone];
  return { ...item, failures: 0, lastError: null, seen: { generation: null, versions: {}, gone }, children: [] };
}

/** All that this run and those before it took into account. */
function together({ generation, versions, gone }: Seen, report: RunReport): Seen {
  return {
    generation: report.generation ?? generation,
    versions: { ...versions, ...report.seen.versions },
    gone: [...new Set([...report.seen.gone, ...gone])],
  };
}

/** The item with what the run has learnt, still held, and nothing dirty. */
function remember(before: LeasedItem, uid: string | null, seen: Seen, report: RunReport): LeasedItem {
  const { ending, summary } = report;
  const looked = afterRun(before.children, report.children);
  const names = new Set(looked.map(formatRef));
  const arrived = notLookedAt(before.children, seen).filter((child) => !names.has(formatRef(child)));
  const children = arrived.length === 0 ? looked : [...looked, ...arrived];
  const failed = ending.kind === 'failed';
  return {
    ...before,
    uid,
    dirty: CLEAN,
    failures: failed ? before.failures + ending.attempts : 0,
    lastError: failed ? { ...ending.error, message: cut(ending.error.message) } : null,
    quarantine: null,
    unfinished: null,
    seen: bounded(seen, uid, children),
    children,
    runs: [told(summary), ...before.runs].slice(0, MAX_RUNS),
  };
}

/** Versions of the object and its children only, and the latest of what is gone: no item grows with its age. */
function bounded({ generation, versions, gone }: Seen, uid: string | null, children: readonly ChildRecord[]): Seen {
  const current = new Set([uid, ...children.map((child) => child.uid)]);
  return {
    generation,
    versions: Object.fromEntries(Object.entries(versions).filter(([id]) => current.has(id))),
    gone: gone.slice(0, MAX_GONE),
  };
}

function told(summary: RunSummary): RunSummary {
  const { writes } = summary;
  if (writes.length <= MAX_WRITES_TOLD) return summary;
  return { ...summary, writes: [...writes.slice(0, MAX_WRITES_TOLD), `… ${writes.length - MAX_WRITES_TOLD} more`] };
}

function cut(message: string): string {
  return message.length <= MAX_MESSAGE_CHARACTERS ? message : `${message.slice(0, MAX_MESSAGE_CHARACTERS)}…`;
}

/**
 * The lease goes on under a token of its own. If the reply to this swap gets lost, the one who asks again must find the
 * lease lost: with the old token it would find a clean item, conclude `idle`, and the news would be gone.
 */
function rerun(item: LeasedItem, nowMs: number): Completion {
  const lease = { ...item.lease, token: nextToken(item, nowMs), renewTime: nowMs };
  const unfinished = { ...lastKnown(item), claims: 1 };
  return { kind: 'rerun', item: withLease({ ...item, unfinished }, lease) };
}

function ring(item: LeasedItem, nowMs: number): Completion {
  return { kind: 'ring', item: released(item, { wakeAt: nowMs, reason: 'rerun' }) };
}

function end(item: LeasedItem, { ending, generation }: RunReport, nowMs: number, fraction: number): Completion {
  switch (ending.kind) {
    case 'gone':
      return { kind: 'gone' };
    case 'settled': {
      if (ending.requeueAfterMs === undefined) return { kind: 'idle', item: released(item, null) };
      return wake(item, { wakeAt: nowMs + ending.requeueAfterMs, reason: 'requeue' });
    }
    case 'failed': {
      const { error, retry, minDelayMs = 0 } = ending;
      if (retry.kind === 'never') {
        const quarantine = { reason: error.code, generation };
        return { kind: 'quarantined', item: { ...released(item, null), quarantine } };
      }
      const delayMs = retryDelayMs(retry, item.failures, fraction, minDelayMs);
      return wake(item, { wakeAt: nowMs + delayMs, reason: 'backoff' });
    }
  }
}

function wake(item: LeasedItem, alarm: Alarm): Completion {
  return { kind: 'wake', item: released(item, alarm), wakeAt: alarm.wakeAt };
}

function released(item: LeasedItem, alarm: Alarm | null): WorkItem {
  return { ...item, lease: null, alarm };
}
