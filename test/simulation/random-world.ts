/**
 * Three Widgets, the real pipeline in as many workers as there are deliveries, and a world that does its worst: every
 * call of every worker waits until the world lets it arrive, workers die and sleep, each with a clock of its own, and
 * messages are lost, doubled and late.
 */
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { ConfigMap } from '../../shared/kube/builtin.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import { WorkQueue } from '../../shared/queue/work-queue.ts';
import { reconcileOnce } from '../../shared/reconcile/run.ts';
import type { Runtime } from '../../shared/reconcile/runtime.ts';
import { sweep } from '../../shared/reconcile/sweep.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { LogBook } from '../support/memory-runtime.ts';
import { Widget } from '../support/objects.ts';
import { type Call, type Fate, RemoteCluster, RemotePublisher, RemoteStore, sender } from './random-calls.ts';
import { WatchedCluster } from './random-forwarder.ts';
import { WatchedStore } from './random-store.ts';
import { controller, NAMES, type Name, problemWith, widgetOf } from './random-widgets.ts';

interface Message {
  readonly id: string;
  readonly doorbell: Doorbell;
}

interface Worker {
  readonly id: string;
  readonly message: Message;
  readonly clock: FakeClock;
  state: 'awake' | 'asleep' | 'dead';
  /** How far its clock is behind. */
  missedMs: number;
}

/** The workers' wall clocks, five minutes apart: nothing may depend on them. */
const WALL_CLOCKS = ['2026-01-01T00:00:00Z', '2026-01-01T00:05:00Z', '2025-12-31T23:55:00Z'];
/** Far more than any world needs. */
const MAX_ROUNDS = 100;
const NEVER = new AbortController().signal;

export class RandomWorld {
  /** Calls that have arrived, by what they were. */
  readonly arrived = new Map<string, number>();
  readonly #clock = new FakeClock();
  readonly #cluster = new MemoryCluster();
  readonly #store = new MemoryWorkStore({ clock: this.#clock });
  readonly #end = new AbortController();
  readonly #watched: WatchedCluster;
  readonly #problems: string[] = [];
  readonly #settled: Message[] = [];
  #waiting: Message[] = [];
  #calls: Call[] = [];
  #workers: Worker[] = [];
  #hasLost: boolean = false;
  #names = 0;

  constructor() {
    this.#watched = new WatchedCluster(this.#cluster, controller, (doorbell) => this.#ring(doorbell), this.#end.signal);
  }

  /** Creates the Widget, or changes its size. */
  resize(name: Name, size: number): void {
    const key = { namespace: 'default', name };
    if (widgetOf(this.#cluster, name) === undefined) {
      const apiVersion = 'test.driftless.dev/v1';
      this.#cluster.create(Widget, { apiVersion, kind: 'Widget', metadata: key, spec: { size } });
    } else {
      this.#cluster.edit(Widget, key, 'kubectl-edit', (widget) => ({ ...widget, spec: { size } }));
    }
  }

  delete(name: Name): void {
    if (widgetOf(this.#cluster, name) !== undefined) this.#cluster.remove(Widget, { namespace: 'default', name });
  }

  /** Somebody edits or deletes the n-th child there is. */
  meddle(n: number, how: 'edit' | 'delete'): void {
    const children = this.#cluster.objects().filter(({ kind }) => kind === 'ConfigMap');
    const name = nth(children, n)?.metadata.name;
    if (name === undefined) return;
    const key = { namespace: 'default', name };
    if (how === 'delete') this.#cluster.remove(ConfigMap, key);
    else this.#cluster.edit(ConfigMap, key, 'kubectl-edit', (child) => ({ ...child, data: { size: 'edited' } }));
  }

  deliver(n: number): void {
    const message = nth(this.#waiting, n);
    if (message === undefined) return;
    this.#waiting = this.#waiting.filter((other) => other !== message);
    this.#names += 1;
    const clock = new FakeClock(WALL_CLOCKS[this.#names % WALL_CLOCKS.length]);
    const worker: Worker = { id: `w${this.#names}`, message, clock, state: 'awake', missedMs: 0 };
    this.#workers.push(worker);
    const delivery = { messageId: message.id, deliveryAttempt: 1, doorbell: message.doorbell };
    // A signal of its own: listeners on a shared one would outlive the worker.
    reconcileOnce(delivery, this.#runtimeOf(worker), new AbortController().signal).then(
      ({ ack }) => this.#finish(worker, ack),
      () => this.#finish(worker, false),
    );
  }

  /** An acknowledged message comes again. */
  repeat(n: number): void {
    const message = nth(this.#settled, n);
    if (message !== undefined) this.#waiting.push(message);
  }

  /** Lets the n-th call under way arrive, but those of workers that are asleep. */
  step(n: number, fate: Fate = 'heard'): void {
    const asleep = new Set(this.#workers.filter(({ state }) => state === 'asleep').map(({ id }) => id));
    const awake = this.#calls.filter(({ worker }) => !asleep.has(worker));
    const call = nth(awake, n);
    if (call !== undefined) this.#arrive(call, fate);
  }

  /** Lets the calls of one worker arrive, one after the other, while all others wait. */
  async hurry(n: number, calls: number): Promise<void> {
    const worker = nth(this.#workers, n);
    for (let left = calls; left > 0; left -= 1) {
      const call = this.#calls.find((other) => other.worker === worker?.id);
      if (call === undefined || worker?.state === 'asleep') return;
      this.#arrive(call, 'heard');
      await flush();
    }
  }

  /** Its calls under way may still arrive. The message comes again; or it is lost, too, once it has led to a claim. */
  async die(n: number, message: 'redelivered' | 'lost'): Promise<void> {
    const worker = nth(this.#workers, n);
    if (worker === undefined) return;
    const { item } = await this.#store.read(worker.message.doorbell.key, NEVER);
    const hasClaimed = item?.lease?.holderIdentity.startsWith(`${worker.id}.`) === true;
    this.#finish(worker, message === 'lost' && hasClaimed);
  }

  sleep(n: number): void {
    const worker = nth(this.#workers, n);
    if (worker !== undefined) worker.state = 'asleep';
  }

  /** Wakes whoever sleeps; their clocks have gone on meanwhile, or have not, as in a machine that was suspended. */
  wake(clocks: 'went on' | 'stood still'): void {
    for (const worker of this.#workers) {
      if (worker.state !== 'asleep') continue;
      worker.state = 'awake';
      if (clocks === 'went on') worker.clock.advance(worker.missedMs);
      worker.missedMs = 0;
    }
  }

  pass(ms: number): void {
    this.#clock.advance(ms);
    for (const worker of this.#workers) {
      if (worker.state === 'asleep') worker.missedMs += ms;
      else worker.clock.advance(ms);
    }
  }

  /** A message is lost that a census can make up for; the deletion of an object leaves nothing to find it by. */
  lose(n: number): void {
    const losable = this.#waiting.filter(({ doorbell }) => doorbell.deleted !== true);
    const message = nth(losable, n);
    this.#hasLost ||= message !== undefined;
    this.#waiting = this.#waiting.filter((other) => other !== message);
  }

  async sweep(): Promise<void> {
    await sweep(this.#runtime(this.#clock), NEVER);
  }

  census(): void {
    for (const doorbell of this.#watched.census()) this.#ring(doorbell);
  }

  /** The census that makes up for lost messages; without any, the work queue must need none. */
  recover(): void {
    if (this.#hasLost) this.census();
  }

  /**
   * Lets everything happen that is owed, until nothing does any more.
   *
   * @param ill applies for this Widget fail, and nobody waits for it
   */
  async settle(ill?: Name): Promise<void> {
    this.wake('went on');
    for (let quiet = 0, round = 0; quiet < 3; round += 1) {
      if (round > MAX_ROUNDS) throw new Error('bounded runs: the world does not come to rest');
      const owed = [...this.#waiting, ...this.#workers.map(({ message }) => message)];
      const isBusy = owed.some(({ doorbell }) => doorbell.key.name !== ill);
      for (const _ of [...this.#waiting]) this.deliver(0);
      await this.#letWork(ill);
      this.pass(6_000 + 5 * 60_000);
      await this.sweep();
      await flush();
      quiet = isBusy ? 0 : quiet + 1;
    }
  }

  /** Everything that is wrong with a world that has come to rest. */
  async problems(except?: Name): Promise<readonly string[]> {
    const names = NAMES.filter((name) => name !== except);
    const found = await Promise.all(names.map((name) => problemWith(name, this.#cluster, this.#store)));
    return [...this.#problems, ...found.filter((problem) => problem !== undefined)];
  }

  /** How many Widgets there are. */
  get widgets(): number {
    return NAMES.filter((name) => widgetOf(this.#cluster, name) !== undefined).length;
  }

  close(): void {
    this.#end.abort();
  }

  /** Until every worker has ended, and what the dead have sent has arrived. */
  async #letWork(ill: Name | undefined): Promise<void> {
    while (this.#workers.length > 0 || this.#calls.length > 0) {
      await flush();
      for (const call of [...this.#calls]) {
        this.#arrive(call, call.about === ill && call.what === 'apply' ? 'unsent' : 'heard');
        await flush();
      }
      if (this.#calls.length === 0) this.pass(50);
    }
  }

  #runtimeOf(worker: Worker): Runtime {
    const post = (call: Call): void => {
      this.#calls.push(call);
    };
    const send = sender(worker.id, () => worker.state !== 'dead', post);
    const watched = new WatchedStore(this.#store, worker.id, (problem) => this.#problems.push(problem));
    const { clock, id: holderIdentity } = worker;
    const runtime = this.#runtime(clock);
    const { random } = runtime;
    return {
      ...runtime,
      clusters: new Map([['local', new RemoteCluster(this.#cluster, send)]]),
      queue: new WorkQueue({ store: new RemoteStore(watched, send), clock, random, holderIdentity }),
      publisher: new RemotePublisher((doorbell) => this.#ring(doorbell), send),
    };
  }

  #runtime(clock: FakeClock): Runtime {
    const random = { fraction: () => 0.5, id: () => `${++this.#names}` };
    const publish = async (_topic: unknown, doorbell: Doorbell): Promise<string> => {
      this.#ring(doorbell);
      return 'rung';
    };
    return {
      queue: new WorkQueue({ store: this.#store, clock, random, holderIdentity: 'sweep' }),
      clusters: new Map([['local', this.#cluster]]),
      controllers: new Map([[controller.name, controller]]),
      publisher: { publish, close: async () => undefined },
      clock,
      random,
      log: new LogBook(),
    };
  }

  #ring(doorbell: Doorbell): void {
    this.#names += 1;
    this.#waiting.push({ id: `m${this.#names}`, doorbell });
  }

  #arrive(call: Call, fate: Fate): void {
    this.#calls = this.#calls.filter((other) => other !== call);
    if (fate !== 'unsent') this.arrived.set(call.what, (this.arrived.get(call.what) ?? 0) + 1);
    call.arrive(fate);
  }

  #finish(worker: Worker, ack: boolean): void {
    if (worker.state === 'dead') return;
    worker.state = 'dead';
    this.#workers = this.#workers.filter((other) => other !== worker);
    (ack ? this.#settled : this.#waiting).push(worker.message);
  }
}

/** Runs everything that can run without another step. */
export function flush(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function nth<T>(all: readonly T[], n: number): T | undefined {
  return all[n % Math.max(1, all.length)];
}
