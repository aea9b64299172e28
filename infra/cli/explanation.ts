import pc from 'picocolors';
import { formatRef } from '../../shared/kube/key.ts';
import { toRfc3339 } from '../../shared/kube/time.ts';
import { BURST, tokensIn } from '../../shared/queue/bucket.ts';
import { isWaitingForHolders } from '../../shared/queue/claim.ts';
import { isHeld } from '../../shared/queue/lease.ts';
import type { Lease, RunSummary, WorkItem } from '../../shared/queue/work-item.ts';

/** The whole story of a work item, for people: why its object runs or does not, and what its last runs did. */
export function explain(item: WorkItem, nowMs: number): readonly string[] {
  const { key, children, runs } = item;
  return [
    `${pc.bold(formatRef(key))} ${pc.dim(`(cluster ${key.cluster}, controller ${key.controller})`)}`,
    '',
    ...verdict(item, nowMs),
    '',
    ...facts(item, nowMs).map(([name, value]) => `  ${name.padEnd(12)} ${value}`),
    '',
    pc.bold('Last runs, newest first'),
    ...(runs.length === 0 ? ['  none was completed'] : runs.flatMap(tellRun)),
    '',
    pc.bold('Children'),
    ...(children.length === 0
      ? ['  none']
      : children.map((child) => `  ${formatRef(child)} ${pc.dim(child.uid ?? '(about to be made)')}`)),
  ];
}

/** Why the object runs, or does not, and what comes next. */
export function verdict(item: WorkItem, nowMs: number): readonly string[] {
  const { lease, quarantine, alarm } = item;
  if (lease !== null) return isHeld(lease, nowMs) ? held(item, lease) : abandoned(lease);
  if (quarantine !== null) {
    const at = quarantine.generation === null ? '' : ` at generation ${quarantine.generation}`;
    return [
      `It is stopped: ${quarantine.reason}${at}. It runs again when its spec changes, or after`,
      ...redrive(item),
    ];
  }
  if (alarm === null) return ['It is at rest. It runs again when it or one of its children changes.'];
  const when = relative(alarm.wakeAt, nowMs);
  if (isWaitingForHolders(item, nowMs)) {
    const lost = item.unfinished?.claims ?? 0;
    return [
      `It waits: the last ${lost} runs ended with the death of their process. It is tried again ${when}, when its spec`,
      'changes, or after',
      ...redrive(item),
    ];
  }
  switch (alarm.reason) {
    case 'backoff':
      return [`It failed, and is tried again ${when}, when something changes, or after`, ...redrive(item)];
    case 'throttled':
      return [`It runs too often, and has its next run ${when}: ${BURST} at once, then one per second.`];
    case 'requeue':
      return [`It is at rest, and looked at again ${when}, or when it or one of its children changes.`];
    case 'rerun':
      return ['It is about to run: something changed during its last run.'];
    case 'handover':
      return ['It is about to run: the process that worked on it was told to end, and handed it over.'];
    case 'redrive':
      return ['It is about to run: somebody redrove it.'];
    case 'lease':
      return ['It is about to run.'];
  }
}

function held({ dirty }: WorkItem, { holderIdentity, messageId }: Lease): readonly string[] {
  const more = dirty.kind === 'clean' ? '' : ' More has changed since: it runs once more after that.';
  return [`It is being worked on by ${holderIdentity}, for message ${messageId}.${more}`];
}

function abandoned({ holderIdentity }: Lease): readonly string[] {
  return [
    `Its run was abandoned: ${holderIdentity} died, or overslept its lease. Its alarm is due and starts another.`,
  ];
}

function redrive({ key }: WorkItem): readonly string[] {
  const name = key.namespace === '' ? key.name : `${key.namespace}/${key.name}`;
  return [`  npx driftless redrive --cluster ${key.cluster} --controller ${key.controller} ${name}`];
}

function facts(item: WorkItem, nowMs: number): readonly (readonly [string, string])[] {
  const { uid, seen, failures, lastError, quarantine, alarm, lease, bucket, token } = item;
  return [
    ['uid', uid ?? 'not read yet'],
    ['generation', seen.generation === null ? 'not read yet' : `${seen.generation}, as last read`],
    ['lease', lease === null ? `none (last token ${token})` : `${lease.holderIdentity}, token ${lease.token}`],
    ['quarantine', quarantine === null ? 'none' : quarantine.reason],
    [
      'alarm',
      alarm === null ? 'none' : `${alarm.reason}, ${relative(alarm.wakeAt, nowMs)} (${toRfc3339(alarm.wakeAt)})`,
    ],
    ['failures', failures === 0 ? 'none' : `${failures} in a row`],
    ['last error', lastError === null ? 'none' : `${lastError.code}: ${lastError.message}`],
    ['runs left', `${Math.floor(tokensIn(bucket, nowMs))} of ${BURST}`],
  ];
}

function tellRun({ at, durationMs, trigger, outcome, writes }: RunSummary): readonly string[] {
  return [
    `  ${toRfc3339(at)}  ${outcome} in ${Math.round(durationMs)} ms, because of ${trigger}`,
    ...writes.map((write) => `      ${write}`),
  ];
}

/** `in 12 s`, `4 min ago`. */
function relative(atMs: number, nowMs: number): string {
  const ms = Math.abs(atMs - nowMs);
  const text = amount(ms);
  return atMs > nowMs ? `in ${text}` : `${text} ago`;
}

function amount(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  if (ms < 7_200_000) return `${Math.round(ms / 60_000)} min`;
  return `${Math.round(ms / 3_600_000)} h`;
}
