import { WebApp } from '../../../functions/controllers/webapp/kind.ts';
import type { KubernetesUser } from '../../../shared/adapters/kubernetes/user.ts';
import { MemoryWorkStore } from '../../../shared/adapters/memory/work-store.ts';
import { SystemClock } from '../../../shared/adapters/system/clock.ts';
import { SystemRandom } from '../../../shared/adapters/system/random.ts';
import { ConflictError, LeaseLostError } from '../../../shared/errors.ts';
import { ConfigMap } from '../../../shared/kube/builtin.ts';
import type { ObjectOf } from '../../../shared/kube/kind.ts';
import type { Stored } from '../../../shared/kube/object.ts';
import type { Doorbell } from '../../../shared/message/doorbell.ts';
import type { Cluster, ClusterSession } from '../../../shared/ports/cluster.ts';
import type { Revision, Swap } from '../../../shared/ports/work-store.ts';
import { Pace } from '../../../shared/queue/pace.ts';
import type { ItemKey, WorkItem } from '../../../shared/queue/work-item.ts';
import { WorkQueue } from '../../../shared/queue/work-queue.ts';
import { defineController, plan } from '../../../shared/reconcile/controller.ts';
import { keepOutOf } from '../../../shared/reconcile/keep-out.ts';
import { reconcileOnce } from '../../../shared/reconcile/run.ts';
import type { Runtime } from '../../../shared/reconcile/runtime.ts';
import { LogBook } from '../../support/memory-runtime.ts';

/** What the overslept holder sends: `recreate` is a create of a child that its successor does not want. */
export const WRITES = ['create', 'recreate', 'apply', 'status', 'delete'] as const;
export type Write = (typeof WRITES)[number];

export interface LateWrite {
  readonly write: Write;
  readonly outcome: 'accepted' | 'conflict' | 'fenced';
  /** When it was given to the connection, after the steal was stored. Milliseconds. */
  readonly sentAfterMs: number;
  /** How long before the steal the fence was written. Milliseconds; not a number where there is none. */
  readonly fencedBeforeMs: number;
  /** Whether the world, when all was quiet, was the late writer's and not the thief's. */
  readonly prevailed: boolean;
}

/** One ConfigMap that holds the image, unless that is `none`; and a condition that names it. */
export const lateController = defineController({
  name: 'late',
  kind: WebApp,
  owns: [ConfigMap],
  plan: ({ object: { metadata, spec } }) =>
    plan({
      children: spec.image === 'none' ? [] : [childOf(metadata.name, spec.image)],
      conditions: [{ type: 'Ready', status: 'True', reason: 'Made', message: spec.image }],
    }),
});

const childOf = (name: string, image: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data: { image },
});

const OPTIONS = { fieldManager: 'driftless/late', signal: new AbortController().signal };
const { signal } = OPTIONS;

/** Real time, which can be moved on: a holder that slept for ten seconds need not be waited for. */
class MovedClock extends SystemClock {
  #moved = 0;
  override monotonic(): number {
    return super.monotonic() + this.#moved;
  }
  move(ms: number): void {
    this.#moved += ms;
  }
}

/** Tells when a lease is taken from somebody. */
class StealNotingStore extends MemoryWorkStore {
  #holder: string | undefined;
  onSteal: () => void = () => undefined;
  override async write(item: WorkItem, expected: Revision | undefined, aborted: AbortSignal): Promise<Swap> {
    const swap = await super.write(item, expected, aborted);
    if (swap.kind === 'stored' && item.lease !== null && item.lease.holderIdentity !== this.#holder) this.onSteal();
    this.#holder = item.lease?.holderIdentity;
    return swap;
  }
}

/** One WebApp, whose lease is stolen again and again by real runs. */
export class LateWorld {
  readonly #clock = new MovedClock();
  readonly #store = new StealNotingStore({ clock: this.#clock });
  readonly #runtime: Runtime;
  readonly #cluster: Cluster;
  readonly #user: KubernetesUser;
  readonly #key: ItemKey;
  readonly #write: Write;
  #rounds = 0;
  #fencedAt = Number.NaN;
  /** Children that were brought back, and that the run after it did not remove. */
  orphans = 0;

  constructor(write: Write, lane: number, cluster: Cluster, user: KubernetesUser) {
    const random = new SystemRandom();
    const clock = this.#clock;
    this.#write = write;
    this.#cluster = cluster;
    this.#user = user;
    this.#key = {
      cluster: 'local',
      controller: lateController.name,
      group: WebApp.group,
      kind: WebApp.kind,
      namespace: 'default',
      name: `${write}-${lane}-${random.id().slice(0, 8)}`,
    };
    const [clusters, log] = [new Map([['local', this.#noting(cluster)]]), new LogBook()];
    const holderIdentity = `prove.${random.id()}`;
    const keepOut = keepOutOf(clusters, log);
    this.#runtime = {
      queue: new WorkQueue({ store: this.#store, clock, random, holderIdentity, keepOut }),
      clusters,
      controllers: new Map([[lateController.name, lateController]]),
      publisher: { publish: async () => 'unused', close: async () => undefined },
      retries: new Pace(10, 10_000),
      clock,
      random,
      log,
    };
  }

  /** A holder looks and oversleeps, somebody changes the object, a thief does what follows, and the holder wakes up. */
  async round(afterMs: number): Promise<LateWrite> {
    const write = this.#write;
    const round = ++this.#rounds;
    const isNew = write === 'create' || write === 'recreate';
    await this.#settle(isNew ? 'none' : `old-${round}`);
    if (isNew && (await this.#child()) !== undefined) this.orphans += 1;

    const claimed = await this.#runtime.queue.answer(this.#doorbell(), `holder-${round}`, signal);
    if (claimed.kind !== 'claimed') throw new Error(`the holder got no claim: ${claimed.kind}`);
    let sentAt = 0;
    const session = this.#cluster.actingFor({
      controller: lateController.name,
      holderIdentity: claimed.claim.item.lease.holderIdentity,
      assertLeased: () => {
        sentAt = performance.now(); // It believes that nothing has happened.
      },
    });
    const { group, kind } = ConfigMap;
    const { namespace, name } = this.#key;
    await this.#runtime.queue.intend(claimed.claim, [{ group, kind, namespace, name, uid: null }], signal);
    const [object, child] = await Promise.all([
      session.get(WebApp, this.#key, signal),
      session.get(ConfigMap, this.#key, signal),
    ]);
    if (object === undefined) throw new Error('the WebApp is missing');

    const wish = write === 'recreate' ? 'none' : `new-${round}`;
    await this.#wish(wish);
    this.#clock.move(10_000);
    const stolen = Promise.withResolvers<number>();
    this.#store.onSteal = () => stolen.resolve(performance.now());
    this.#fencedAt = Number.NaN;
    const thief = this.#run();
    const stolenAt = await stolen.promise;
    await this.#clock.sleep(Math.max(0, stolenAt + afterMs - performance.now()));
    const outcome = await this.#send(session, object, child);
    await thief;
    const prevailed = await this.#hasPrevailed(wish);
    return { write, outcome, sentAfterMs: sentAt - stolenAt, fencedBeforeMs: stolenAt - this.#fencedAt, prevailed };
  }

  /** The cluster, which tells when its fence was written. */
  #noting(cluster: Cluster): Cluster {
    const { fence } = cluster;
    if (fence === undefined) return cluster;
    const add = async (holders: readonly string[], aborted: AbortSignal): Promise<void> => {
      await fence.add(holders, aborted);
      this.#fencedAt = performance.now();
    };
    return { actingFor: (holder) => cluster.actingFor(holder), fence: { add } };
  }

  async #send(
    session: ClusterSession,
    object: Stored<ObjectOf<typeof WebApp>>,
    child: Stored<ObjectOf<typeof ConfigMap>> | undefined,
  ): Promise<LateWrite['outcome']> {
    const { uid, name, namespace = 'default' } = object.metadata;
    const late = childOf(name, 'late');
    const owner = { apiVersion: object.apiVersion, kind: object.kind, name, uid, controller: true };
    const wanted = { ...late, metadata: { name, namespace, ownerReferences: [owner] } };
    const condition = {
      type: 'Ready',
      status: 'True',
      reason: 'Made',
      message: 'late',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    try {
      if (this.#write === 'create' || this.#write === 'recreate') await session.create(ConfigMap, wanted, OPTIONS);
      else if (this.#write === 'status')
        await session.patchStatus(WebApp, object, { conditions: [condition] }, OPTIONS);
      else if (child === undefined) throw new Error('the child is missing');
      else if (this.#write === 'apply') await session.apply(ConfigMap, child, wanted, OPTIONS);
      else await session.delete(ConfigMap, child, signal);
      return 'accepted';
    } catch (error) {
      if (error instanceof ConflictError) return 'conflict';
      if (error instanceof LeaseLostError) return 'fenced';
      throw error;
    }
  }

  async #hasPrevailed(wish: string): Promise<boolean> {
    if (this.#write === 'status') {
      const object = await this.#user.get(WebApp, this.#key, signal);
      return object?.status?.conditions?.[0]?.message !== wish;
    }
    return (await this.#child())?.data?.['image'] !== (wish === 'none' ? undefined : wish);
  }

  async #settle(image: string): Promise<void> {
    await this.#wish(image);
    await this.#run();
  }

  async #wish(image: string): Promise<void> {
    const { namespace, name } = this.#key;
    const metadata = { namespace, name };
    const spec = { image, replicas: 1, port: 8080 };
    const webApp = { apiVersion: 'apps.driftless.dev/v1', kind: 'WebApp', metadata, spec };
    await this.#user.apply(WebApp, webApp, { fieldManager: 'prove', force: true, signal });
  }

  async #run(): Promise<void> {
    const delivery = {
      messageId: `run-${performance.now()}`,
      deliveryAttempt: 1,
      topic: 'changes',
      doorbell: this.#doorbell(),
    } as const;
    await reconcileOnce(delivery, this.#runtime, signal);
  }

  #child() {
    return this.#user.get(ConfigMap, this.#key, signal);
  }

  #doorbell(): Doorbell {
    return { key: this.#key, news: { kind: 'unknown' }, trigger: 'prove' };
  }
}
