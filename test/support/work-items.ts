import type { Version } from '../../shared/kube/version.ts';
import type { Doorbell, News } from '../../shared/message/doorbell.ts';
import type { Ending, RunReport } from '../../shared/queue/complete.ts';
import type { LeasedItem } from '../../shared/queue/lease.ts';
import {
  type ChildRecord,
  type ItemKey,
  type Lease,
  NOTHING_SEEN,
  type RunSummary,
  type Seen,
  type WorkItem,
} from '../../shared/queue/work-item.ts';

export function itemKey(fields: Partial<ItemKey> = {}): ItemKey {
  return {
    cluster: 'local',
    controller: 'webapp',
    group: 'apps.driftless.dev',
    kind: 'WebApp',
    namespace: 'default',
    name: 'web',
    ...fields,
  };
}

/** An item on which nobody works and about which nothing is known. */
export function workItem(fields: Partial<WorkItem> = {}): WorkItem {
  return {
    key: itemKey(),
    uid: null,
    lease: null,
    token: 0,
    dirty: { kind: 'clean' },
    failures: 0,
    lastError: null,
    quarantine: null,
    alarm: null,
    bucket: null,
    unfinished: null,
    unfenced: [],
    seen: NOTHING_SEEN,
    children: [],
    runs: [],
    ...fields,
  };
}

/** An item held for message `m1` under token 7 from time 1000 to 7000. */
export function heldItem(fields: Partial<WorkItem> = {}): LeasedItem {
  const lease: Lease = {
    holderIdentity: 'worker-1',
    token: 7,
    renewTime: 1_000,
    leaseDurationMs: 6_000,
    messageId: 'm1',
  };
  return { ...workItem({ token: 7, alarm: { wakeAt: 7_000, reason: 'lease' }, ...fields }), lease };
}

export function versions(...texts: readonly string[]): readonly Version[] {
  return texts.map((text) => {
    const [uid = '', resourceVersion = ''] = text.split('@');
    return { uid, resourceVersion };
  });
}

export function seen(fields: Partial<Seen> = {}): Seen {
  return { ...NOTHING_SEEN, ...fields };
}

export function child(name: string, uid: string | null): ChildRecord {
  return { group: 'apps', kind: 'Deployment', namespace: 'default', name, uid };
}

export function doorbell(news: News, fields: Partial<Doorbell> = {}): Doorbell {
  return { key: itemKey(), news, trigger: 'MODIFIED WebApp.apps.driftless.dev default/web', ...fields };
}

/** News of these states, written `uid@resourceVersion`. */
export function news(...texts: readonly string[]): News {
  return { kind: 'versions', versions: versions(...texts) };
}

export function runSummary(fields: Partial<RunSummary> = {}): RunSummary {
  return { at: 1_000, durationMs: 5, trigger: 'MODIFIED', writes: [], outcome: 'settled', ...fields };
}

export function report(ending: Ending, fields: Partial<RunReport> = {}): RunReport {
  return {
    uid: 'a',
    generation: 1,
    seen: NOTHING_SEEN,
    children: [],
    ending,
    summary: runSummary(),
    ...fields,
  };
}
