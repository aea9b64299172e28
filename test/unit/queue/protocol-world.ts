import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { MemoryWorkStore } from '../../../shared/adapters/memory/work-store.ts';
import { TransientError } from '../../../shared/errors.ts';
import type { Version } from '../../../shared/kube/version.ts';
import type { Doorbell, News } from '../../../shared/message/doorbell.ts';
import type { DueAlarm, ReadItem, Revision, Swap, WorkStore } from '../../../shared/ports/work-store.ts';
import type { Ending } from '../../../shared/queue/complete.ts';
import type { ItemKey, WorkItem } from '../../../shared/queue/work-item.ts';
import { type Claim, WorkQueue } from '../../../shared/queue/work-queue.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { child, doorbell, itemKey, report, seen, workItem } from '../../support/work-items.ts';

interface Message {
  readonly id: string;
  readonly doorbell: Doorbell;
}

/** A point at which a worker waits for the test: before and after every call, and before every read of the cluster. */
interface Step {
  readonly worker: Worker;
  /** `fail`: the call does not arrive, or its reply does not. */
  readonly go: (how: 'go' | 'fail') => void;
}

export type EndingKind = 'settled' | 'requeue' | 'backoff' | 'terminal';

/** What the workers do next, taken in turn. */
export interface Choices {
  readonly endings: readonly EndingKind[];
  readonly canRerun: readonly boolean[];
  /** Runs that the object has left at the start. @default all */
  readonly tokens?: number;
  /** Holders that it has lost in a row already. @default 0 */
  readonly lostHolders?: number;
}

/**
 * One object with one child, a broker, a store, and workers that stop at every step until the test lets them go on.
 *
 * The workers are as bad as workers can be: their clocks stand still, they never look at `validUntil`, they can be
 * killed or forgotten at every step, and their calls can fail before or after they took effect.
 */
export class ProtocolWorld {
  readonly clock = new FakeClock();
  readonly #store = new MemoryWorkStore({ clock: this.clock });
  readonly #guarded = new GuardedStore(this.#store, itemKey());
  readonly #choices: Choices;
  readonly #waiting: Message[] = [];
  readonly #settled: Message[] = [];
  /** What a worker must not have done. */
  readonly #problems: unknown[] = [];
  #steps: Step[] = [];
  #workers: Worker[] = [];
  #counter = 0;
  #object: Version | undefined;
  #child: Version | undefined;
  /** From now on every run settles. */
  #calm: boolean = false;

  constructor(choices: Choices) {
    this.#choices = choices;
  }

  /** The object exists, and its item is what the choices say. */
  async start(): Promise<void> {
    const { tokens, lostHolders = 0 } = this.#choices;
    const item = workItem({
      bucket: tokens === undefined ? null : { tokens, updatedAt: this.clock.now() },
      unfinished: lostHolders === 0 ? null : { uid: null, generation: null, claims: lostHolders },
    });
    await this.#store.write(item, undefined, NEVER);
    this.recreate();
  }

  changeObject(): void {
    if (this.#object === undefined) return;
    this.#object = { uid: this.#object.uid, resourceVersion: this.#next() };
    this.#ringForObject(this.#object);
  }

  changeChild(): void {
    if (this.#child === undefined) return;
    this.#child = { uid: this.#child.uid, resourceVersion: this.#next() };
    this.ring({ kind: 'versions', versions: [this.#child] });
  }

  deleteObject(): void {
    if (this.#object === undefined) return;
    const last = { uid: this.#object.uid, resourceVersion: this.#next() };
    this.#object = this.#child = undefined;
    this.ring({ kind: 'versions', versions: [last] }, { uid: last.uid, deleted: true });
  }

  recreate(): void {
    this.deleteObject();
    this.#object = { uid: `object-${this.#counter}`, resourceVersion: this.#next() };
    this.#child = { uid: `child-${this.#counter}`, resourceVersion: this.#next() };
    this.#ringForObject(this.#object);
  }

  ring(news: News, fields: Partial<Doorbell> = {}): void {
    this.#waiting.push({ id: `m${this.#next()}`, doorbell: doorbell(news, fields) });
  }

  async ringAlarms(): Promise<number> {
    const due = await this.#store.due(10, NEVER);
    for (const _ of due) this.ring({ kind: 'alarm' });
    return due.length;
  }

  deliver(n: number): void {
    const message = this.#waiting.splice(n % Math.max(1, this.#waiting.length), 1)[0];
    if (message === undefined) return;
    const worker: Worker = { id: this.#next(), alive: true, hasClaimed: false, message };
    this.#workers.push(worker);
    void this.#work(worker);
  }

  /** A message that was acknowledged comes again. */
  repeat(n: number): void {
    const message = this.#settled[n % Math.max(1, this.#settled.length)];
    if (message !== undefined) this.#waiting.push(message);
  }

  step(n: number, how: 'go' | 'fail' = 'go'): void {
    this.#steps.splice(n % Math.max(1, this.#steps.length), 1)[0]?.go(how);
  }

  /** Lets the first or the last worker that waits go some steps while the others wait. */
  async hurry(n: number, who: 'first' | 'last' = 'first'): Promise<void> {
    const worker = this.#steps.at(who === 'first' ? 0 : -1)?.worker;
    for (let left = n; left > 0; left -= 1) {
      const next = this.#steps.findIndex((step) => step.worker === worker);
      if (next === -1) return;
      this.step(next);
      await flush();
    }
  }

  /**
   * Kills a worker; the broker will deliver its message again, or loses it: a claim must not need its message.
   * (A message that is lost before it is answered is what the audit is for.)
   */
  crash(n: number, message: 'redelivered' | 'lost'): void {
    const worker = this.#workers[n % Math.max(1, this.#workers.length)];
    if (worker === undefined) return;
    this.#steps = this.#steps.filter((step) => step.worker !== worker);
    this.#end(worker, message === 'lost' && worker.hasClaimed);
  }

  /** Lets everything finish that is owed: messages that are left, alarms as they come due. */
  async settle(): Promise<void> {
    this.#calm = true;
    for (let quiet = 0, round = 0; quiet < 3; round += 1) {
      assert(round < 200, 'the world does not come to rest');
      while (this.#waiting.length > 0) this.deliver(0);
      await flush();
      const busy = this.#steps.length > 0;
      while (this.#steps.length > 0) {
        this.step(0);
        await flush();
      }
      this.clock.advance(6_000 + 5 * 60_000);
      const rung = await this.ringAlarms();
      quiet = busy || rung > 0 || this.#waiting.length > 0 ? 0 : quiet + 1;
    }
  }

  /** Nothing is held, and no change is left that no run has looked at. */
  async assertConverged(): Promise<void> {
    for (const problem of this.#problems) throw problem;
    assert.equal(this.#workers.length, 0);
    const { item } = await this.#store.read(itemKey(), NEVER);
    assert.equal(item?.lease ?? null, null);
    if (this.#object === undefined) {
      assert(item === undefined, 'the object is gone, its item is not');
      return;
    }
    assert(item !== undefined, 'the object exists, its item does not');
    const { uid, resourceVersion } = this.#object;
    if (item.quarantine !== null) {
      assert.deepEqual([item.uid, item.quarantine.generation], [uid, Number(resourceVersion)]);
      return;
    }
    assert.equal(item.seen.versions[uid], resourceVersion, 'a change of the object was lost');
    if (this.#child === undefined) return;
    assert.equal(item.seen.versions[this.#child.uid], this.#child.resourceVersion, 'a change of the child was lost');
  }

  #ringForObject(version: Version): void {
    // Every change is one of the spec: the version serves as generation, too.
    const { uid } = version;
    this.ring({ kind: 'versions', versions: [version] }, { uid, generation: Number(version.resourceVersion) });
  }

  async #work(worker: Worker): Promise<void> {
    const store = new SteppedStore(this.#guarded, worker, (who) => this.#stop(who));
    const queue = new WorkQueue({
      store,
      // A monotonic clock that stands still is the worst that a suspended machine can have.
      clock: { now: () => 0, monotonic: () => 0, sleep: async () => undefined },
      random: { fraction: () => 0, id: () => worker.id },
      holderIdentity: 'worker',
    });
    try {
      const answered = await queue.answer(worker.message.doorbell, worker.message.id, NEVER);
      if (answered.kind !== 'claimed') return this.#end(worker, answered.ack);
      worker.hasClaimed = true;
      let claim: Claim | undefined = answered.claim;
      while (claim !== undefined) {
        const ended = await this.#run(worker, claim);
        const canRerun = this.#choose(this.#choices.canRerun, true);
        const completed = await queue.complete(claim, ended, { canRerun }, NEVER);
        if (completed.kind === 'lost') return this.#end(worker, false);
        if (completed.kind === 'ring') this.ring({ kind: 'unknown' });
        claim = completed.kind === 'rerun' ? completed.claim : undefined;
      }
      this.#end(worker, true);
    } catch (error) {
      if (!(error instanceof TransientError)) this.#problems.push(error);
      this.#end(worker, false);
    }
  }

  /** Looks at the object and, later, at its child, as a run does. */
  async #run(worker: Worker, claim: Claim) {
    await this.#stop(worker);
    const object = this.#object;
    await this.#stop(worker);
    const observed = this.#child;
    await this.#stop(worker);
    if (object === undefined) {
      return report({ kind: 'gone' }, { uid: claim.item.uid, seen: claim.item.seen, children: claim.item.children });
    }
    const ending = this.#ending();
    const known = observed === undefined ? {} : { [observed.uid]: observed.resourceVersion };
    return report(ending, {
      uid: object.uid,
      generation: Number(object.resourceVersion),
      // A run that failed promises nothing about what it read.
      seen:
        ending.kind === 'failed'
          ? claim.item.seen
          : seen({ versions: { [object.uid]: object.resourceVersion, ...known } }),
      children: observed === undefined ? claim.item.children : [child('web', observed.uid)],
    });
  }

  #ending(): Ending {
    const error = { code: 'TEST', message: 'as the test wants it' };
    const kind = this.#calm ? 'settled' : this.#choose(this.#choices.endings, 'settled');
    switch (kind) {
      case 'settled':
        return { kind: 'settled' };
      case 'requeue':
        return { kind: 'settled', requeueAfterMs: 2_000 };
      case 'backoff':
        return { kind: 'failed', error, retry: { kind: 'backoff' }, attempts: 1 };
      case 'terminal':
        return { kind: 'failed', error, retry: { kind: 'never' }, attempts: 1 };
    }
  }

  #stop(worker: Worker): Promise<'go' | 'fail'> {
    return new Promise((go) => {
      if (worker.alive) this.#steps.push({ worker, go });
    });
  }

  #end(worker: Worker, ack: boolean): void {
    worker.alive = false;
    this.#workers = this.#workers.filter((other) => other !== worker);
    (ack ? this.#settled : this.#waiting).push(worker.message);
  }

  #choose<T>(choices: readonly T[], otherwise: T): T {
    return choices[Number(this.#next()) % Math.max(1, choices.length)] ?? otherwise;
  }

  #next(): string {
    this.#counter += 1;
    return String(this.#counter);
  }
}

interface Worker {
  readonly id: string;
  readonly message: Message;
  alive: boolean;
  hasClaimed: boolean;
}

const NEVER = new AbortController().signal;

/** Runs everything that can run without another step. */
export function flush(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** One worker's way to the store: each call waits before it arrives, and before its reply does. */
class SteppedStore implements WorkStore {
  readonly #store: GuardedStore;
  readonly #worker: Worker;
  readonly #stop: (worker: Worker) => Promise<'go' | 'fail'>;

  constructor(store: GuardedStore, worker: Worker, stop: (worker: Worker) => Promise<'go' | 'fail'>) {
    this.#store = store;
    this.#worker = worker;
    this.#stop = stop;
  }

  async read(): Promise<ReadItem> {
    await this.#arrive();
    const reading = await this.#store.read();
    await this.#arrive();
    return reading;
  }

  async write(item: WorkItem, expected: Revision | undefined): Promise<Swap> {
    await this.#arrive();
    const swap = await this.#store.write(`worker.${this.#worker.id}`, item, expected);
    // A reply that got lost: the call was repeated, and found that the item had moved.
    return (await this.#stop(this.#worker)) === 'go' ? swap : { kind: 'lost' };
  }

  async remove(_key: ItemKey, expected: Revision): Promise<Swap['kind']> {
    await this.#arrive();
    const swap = await this.#store.remove(`worker.${this.#worker.id}`, expected);
    return (await this.#stop(this.#worker)) === 'go' ? swap : 'lost';
  }

  async due(): Promise<readonly DueAlarm[]> {
    return [];
  }

  async list(): Promise<readonly WorkItem[]> {
    return [];
  }

  async #arrive(): Promise<void> {
    if ((await this.#stop(this.#worker)) === 'fail') throw new TransientError('STORE_UNAVAILABLE', 'no answer');
  }
}

/** Watches that every change of the item is one that its author may make (I2). */
class GuardedStore {
  readonly #store: MemoryWorkStore;
  readonly #key: ItemKey;
  /** Who was given which token. */
  readonly #given = new Set<string>();

  constructor(store: MemoryWorkStore, key: ItemKey) {
    this.#store = store;
    this.#key = key;
  }

  read(): Promise<ReadItem> {
    return this.#store.read(this.#key, NEVER);
  }

  async write(author: string, next: WorkItem, expected: Revision | undefined): Promise<Swap> {
    const { item: before, revision, nowMs } = await this.read();
    if (revision === expected) this.#check(author, before, next, nowMs);
    return this.#store.write(next, expected, NEVER);
  }

  async remove(author: string, expected: Revision): Promise<Swap['kind']> {
    const { item: before, revision } = await this.read();
    if (revision === expected) this.#assertHolder(author, before);
    return this.#store.remove(this.#key, expected, NEVER);
  }

  #check(author: string, before: WorkItem | undefined, next: WorkItem, nowMs: number): void {
    const [had, has] = [before?.lease ?? null, next.lease];
    const free = had === null || nowMs >= had.renewTime + had.leaseDurationMs;
    if (has === null) {
      // Whoever may not run yet leaves it to an alarm, and nothing that a run has found out is touched.
      const waits = free && before !== undefined && next.alarm !== null;
      if (!waits || !isDeepStrictEqual(foundOut(next), foundOut(before))) this.#assertHolder(author, before);
      return;
    }
    if (has.token === had?.token) {
      // Anybody may leave news; all else is the holder's.
      if (!isDeepStrictEqual({ ...next, dirty: before?.dirty }, before)) this.#assertHolder(author, before);
      return;
    }
    if (!free) this.#assertHolder(author, before);
    assert(before === undefined || has.token > before.token, 'a token did not grow');
    const holder = `${has.token} of ${author}`;
    assert(!this.#given.has(holder), `token ${holder} was given before`);
    this.#given.add(holder);
  }

  #assertHolder(author: string, item: WorkItem | undefined): void {
    assert.equal(item?.lease?.holderIdentity, author, 'somebody else’s item was changed');
    assert(this.#given.has(`${item.lease.token} of ${author}`));
  }
}

function foundOut({ uid, token, seen, children, runs }: WorkItem) {
  return { uid, token, seen, children, runs };
}
