import { FieldConflictError } from '../kube/api-error.ts';
import type { ObjectRef } from '../kube/key.ts';
import type { Stored } from '../kube/object.ts';
import type { ClusterSession } from '../ports/cluster.ts';
import type { Change } from './changes.ts';
import type { Controller } from './controller.ts';
import type { Journal } from './journal.ts';
import { type Observation, withChild } from './observe.ts';

export interface ApplyContext {
  readonly cluster: ClusterSession;
  readonly controller: Controller;
  readonly fieldManager: string;
  readonly journal: Journal;
  readonly signal: AbortSignal;
}

/**
 * Carries the changes out and returns the observation as the writes left it, so that nothing is read again.
 *
 * Waves by kind: what others refer to comes first (configuration, Services, workloads, the rest), then the deletions;
 * within a wave all at once. Every write names what was observed, or that nothing was, so whoever overslept is refused.
 *
 * @throws {ConflictError} when a child moved or came up since it was observed: look again
 */
export async function apply(
  context: ApplyContext,
  changes: readonly Change[],
  observation: Observation,
): Promise<Observation> {
  let next = observation;
  for (const wave of wavesOf(changes)) {
    context.signal.throwIfAborted();
    const written = await settleAll(wave.map((change) => write(context, change)));
    for (const [i, object] of written.entries()) {
      const change = wave[i];
      if (change !== undefined) next = withChild(next, refOf(change), object);
    }
  }
  return next;
}

async function write(context: ApplyContext, change: Change): Promise<Stored | undefined> {
  const { cluster, journal, fieldManager, signal } = context;
  switch (change.kind) {
    case 'create': {
      const { kind, ref, object } = change.desired;
      return await journal.write('create', ref, [], () => cluster.create(kind, object, { fieldManager, signal }));
    }
    case 'configure': {
      const { ref } = change.desired;
      return await journal.write('apply', ref, change.fields, () => configure(context, change));
    }
    case 'delete': {
      const kind = context.controller.owns.find((k) => k.group === change.ref.group && k.kind === change.ref.kind);
      if (kind === undefined) return change.observed;
      await journal.write('delete', change.ref, [], () => cluster.delete(kind, change.observed, signal));
      return undefined;
    }
  }
}

/**
 * Applies without force. Fields that a person took with an interactive tool are taken back: that is what drift repair
 * means, and a person does not fight. Fields of any other manager stay theirs, and the conflict is reported.
 */
async function configure(context: ApplyContext, { desired, observed }: Configure): Promise<Stored> {
  const { cluster, fieldManager, signal } = context;
  const { kind, object } = desired;
  try {
    return await cluster.apply(kind, observed, object, { fieldManager, signal });
  } catch (error) {
    if (!(error instanceof FieldConflictError) || !error.conflicts.every((c) => isInteractive(c.manager))) throw error;
    return await cluster.apply(kind, observed, object, { fieldManager, force: true, signal });
  }
}

type Configure = Extract<Change, { kind: 'configure' }>;

/** `kubectl-edit`, `kubectl-patch`, `kubectl-client-side-apply` …: field managers of people at a keyboard. */
function isInteractive(manager: string): boolean {
  return manager === 'kubectl' || manager.startsWith('kubectl-') || manager === 'k9s';
}

/** Lets every write of a wave end before an error goes on, so that none is still under way when the run ends. */
async function settleAll<T>(writes: readonly Promise<T>[]): Promise<readonly T[]> {
  const results = await Promise.allSettled(writes);
  return results.map((result) => {
    if (result.status === 'rejected') throw result.reason;
    return result.value;
  });
}

const FIRST = new Set([
  'Namespace',
  'ServiceAccount',
  'ConfigMap',
  'Secret',
  'PersistentVolumeClaim',
  'Role',
  'ClusterRole',
]);
const WORKLOADS = new Set(['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob', 'Pod', 'ReplicaSet']);

function wavesOf(changes: readonly Change[]): readonly (readonly Change[])[] {
  const waves: Change[][] = [[], [], [], [], []];
  for (const change of changes) waves[waveOf(change)]?.push(change);
  return waves.filter((wave) => wave.length > 0);
}

function waveOf(change: Change): number {
  if (change.kind === 'delete') return 4;
  const { kind } = change.desired.ref;
  if (FIRST.has(kind)) return 0;
  if (kind === 'Service') return 1;
  return WORKLOADS.has(kind) ? 2 : 3;
}

function refOf(change: Change): ObjectRef {
  return change.kind === 'delete' ? change.ref : change.desired.ref;
}
