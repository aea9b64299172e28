import { LeaseLostError, messageOf, TerminalError } from '../errors.ts';
import type { Doorbell } from '../message/doorbell.ts';
import type { Delivery } from '../message/push.ts';
import type { Cluster } from '../ports/cluster.ts';
import { formatItemKey } from '../queue/work-item.ts';
import type { Claim } from '../queue/work-queue.ts';
import { attempt } from './attempt.ts';
import type { Controller } from './controller.ts';
import { LeaseKeeper } from './lease-keeper.ts';
import type { Runtime } from './runtime.ts';

export interface Outcome {
  /** `reconciled`, or why no run was needed. */
  readonly kind: 'reconciled' | 'dirty' | 'no-news' | 'quarantined' | 'throttled' | 'backing-off' | 'redelivered';
  /** Whether the broker may forget the message. */
  readonly ack: boolean;
}

/**
 * What changes a work item ends within the store's own deadline; cut off, nobody would know how it ended. A signal for each
 * call: on a shared one the listeners of all calls would gather.
 */
const untilDone = (): AbortSignal => new AbortController().signal;

/**
 * Answers one delivery. Read this file first: the rest of the runtime hangs off it.
 *
 * A message becomes a claim; a claim protects observe → plan → diff → apply → status → complete; what could not be
 * finished becomes an alarm. The message is acknowledged only when this has returned, so a crash after any line ends
 * in a redelivery or an alarm, and every line bears being run again.
 *
 * @param signal aborts when this process must end: the run stops, and the object is handed over to whoever is next
 * @throws {LeaseLostError} when somebody else holds the object now; the message must not be acknowledged
 * @throws {TransientError} when the store did not answer; likewise
 */
export async function reconcileOnce(delivery: Delivery, runtime: Runtime, signal: AbortSignal): Promise<Outcome> {
  const { doorbell, messageId } = delivery;
  const { queue, log } = runtime;
  const target = targetOf(doorbell, runtime);

  const answer = await queue.answer(doorbell, messageId, untilDone());
  if (answer.kind !== 'claimed') {
    log.info('doorbell answered', { ...fieldsOf(delivery), decision: answer.kind });
    return { kind: answer.kind, ack: answer.kind !== 'redelivered' };
  }

  const { token, item } = answer.claim;
  // Before anything is written, so that whatever becomes of the run, its writes can be told from those of others.
  log.info('doorbell answered', {
    ...fieldsOf(delivery),
    decision: answer.kind,
    token,
    holderIdentity: item.lease.holderIdentity,
  });
  const rerunUntil = runtime.clock.monotonic() + target.controller.timeoutMs / 2;
  let claim: Claim | undefined = answer.claim;
  while (claim !== undefined) claim = await runClaim({ claim, delivery, target, rerunUntil }, runtime, signal);
  return { kind: 'reconciled', ack: true };
}

interface Target {
  readonly controller: Controller;
  readonly cluster: Cluster;
}

interface Run {
  readonly claim: Claim;
  readonly delivery: Delivery;
  readonly target: Target;
  /** Monotonic milliseconds; news after this waits for another delivery, so that no object keeps an instance for ever. */
  readonly rerunUntil: number;
}

/** One run under one claim. Returns the next claim when news arrived meanwhile and must be looked at at once. */
async function runClaim(run: Run, runtime: Runtime, signal: AbortSignal): Promise<Claim | undefined> {
  const { claim, delivery, target, rerunUntil } = run;
  const { controller, cluster } = target;
  const { queue, clock, publisher, log } = runtime;
  const { doorbell } = delivery;
  const lease = new LeaseKeeper(queue, clock, claim, signal);
  const session = cluster.actingFor({
    controller: controller.name,
    holderIdentity: claim.item.lease.holderIdentity,
    assertLeased: () => lease.assertLeased(),
  });
  const attempted = await attempt({
    controller,
    cluster: session,
    lease,
    trigger: doorbell.trigger,
    runtime,
  });
  const held = await lease.stop();
  if (lease.signal.aborted) {
    log.warn('run abandoned', { ...fieldsOf(delivery), token: claim.token, error: messageOf(lease.signal.reason) });
    if (signal.aborted) await handOver(held, delivery, runtime);
    lease.signal.throwIfAborted();
  }
  const canRerun = clock.monotonic() < rerunUntil;
  const completed = await queue.complete(held, attempted.report, { canRerun }, untilDone());
  log[attempted.error === undefined ? 'info' : 'warn']('run finished', {
    ...fieldsOf(delivery),
    ...attempted.record,
    token: claim.token,
    next: completed.kind,
    ...(completed.kind === 'wake' ? { wakeAt: completed.wakeAt } : {}),
  });
  switch (completed.kind) {
    case 'lost':
      throw new LeaseLostError(`${formatItemKey(doorbell.key)} was taken over before the run could be completed`);
    case 'rerun':
      return completed.claim;
    case 'ring':
      // If this is lost, the alarm that `complete` has set rings instead.
      await publisher.publish('changes', {
        key: doorbell.key,
        news: { kind: 'unknown' },
        trigger: 'news during the run',
      });
      return undefined;
    case 'idle':
    case 'wake':
    case 'quarantined':
    case 'gone':
      return undefined;
  }
}

/** Leaves the object to somebody else, and rings for it. If the ring is lost, the alarm that is due rings instead. */
async function handOver(held: Claim, delivery: Delivery, { queue, publisher, log }: Runtime): Promise<void> {
  const { key } = delivery.doorbell;
  const released = await queue.release(held, untilDone());
  if (released === 'lost') return;
  await publisher.publish('changes', { key, news: { kind: 'alarm' }, trigger: 'handover' });
  log.info('object handed over', { ...fieldsOf(delivery), token: held.token });
}

function targetOf({ key }: Doorbell, { controllers, clusters }: Runtime): Target {
  const controller = controllers.get(key.controller);
  if (controller === undefined) {
    throw new TerminalError('UNKNOWN_CONTROLLER', `no controller is called '${key.controller}' here`);
  }
  const cluster = clusters.get(key.cluster);
  if (cluster === undefined) throw new TerminalError('UNKNOWN_CLUSTER', `no cluster is called '${key.cluster}' here`);
  return { controller, cluster };
}

/** The fields by which every line about one delivery can be found. */
function fieldsOf({ doorbell, messageId, deliveryAttempt }: Delivery) {
  const { cluster, controller, namespace, name } = doorbell.key;
  return { cluster, controller, namespace, name, messageId, deliveryAttempt, trigger: doorbell.trigger };
}
