/**
 * Three Widgets, the real pipeline in a few instances, and a world that does its worst: every call of every instance
 * waits until the world lets it arrive, instances die and sleep, each with a clock of its own, and messages are lost,
 * doubled and late.
 */
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { ConfigMap } from '../../shared/kube/builtin.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import { sweep } from '../../shared/reconcile/sweep.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { Widget } from '../support/objects.ts';
import { type Call, type Fate, RemoteCluster, RemotePublisher, RemoteStore, sender } from './random-calls.ts';
import { WatchedCluster } from './random-forwarder.ts';
import { Instance, runtimeOf, type Surroundings } from './random-instance.ts';
import { type Message, Messages, nth } from './random-messages.ts';
import { WatchedStore } from './random-store.ts';
import { controller, NAMES, type Name, problemWith, widgetOf } from './random-widgets.ts';

const INSTANCES = 3;
/** Far more than any world needs. */
const MAX_ROUNDS = 100;
const NEVER = new AbortController().signal;

export class RandomWorld {
  /** What happened, for people. */
  readonly story: string[] = [];
  /** How often each kind of thing happened. */
  readonly counts = new Map<string, number>();
  /** Calls that have arrived since the last census, by what they were. */
  readonly arrived = new Map<string, number>();
  readonly #clock = new FakeClock();
  readonly #cluster = new MemoryCluster();
  readonly #store = new MemoryWorkStore({ clock: this.#clock });
  readonly #end = new AbortController();
  readonly #watched: WatchedCluster;
  readonly #problems: string[] = [];
  readonly #messages = new Messages();
  readonly #instances: (Instance | undefined)[] = Array.from({ length: INSTANCES }, () => undefined);
  #ending: Instance[] = [];
  #calls: Call[] = [];
  #names = 0;

  constructor() {
    this.#watched = new WatchedCluster(this.#cluster, controller, (doorbell) => this.#ring(doorbell), this.#end.signal);
  }

  /** Creates the Widget, or changes its size. */
  resize(name: Name, size: number): void {
    const key = { namespace: 'default', name };
    const isNew = widgetOf(this.#cluster, name) === undefined;
    this.#tell('resize', `a user ${isNew ? 'creates' : 'changes'} ${name}: size ${size}`);
    if (isNew) {
      const apiVersion = 'test.driftless.dev/v1';
      this.#cluster.create(Widget, { apiVersion, kind: 'Widget', metadata: key, spec: { size } });
    } else {
      this.#cluster.edit(Widget, key, 'kubectl-edit', (widget) => ({ ...widget, spec: { size } }));
    }
  }

  delete(name: Name): void {
    if (widgetOf(this.#cluster, name) === undefined) return;
    this.#tell('delete', `a user deletes ${name}`);
    this.#cluster.remove(Widget, { namespace: 'default', name });
  }

  /** Somebody edits or deletes the n-th child there is. */
  meddle(n: number, how: 'edit' | 'delete'): void {
    const children = this.#cluster.objects().filter(({ kind }) => kind === 'ConfigMap');
    const name = nth(children, n)?.metadata.name;
    if (name === undefined) return;
    this.#tell(`${how} a child`, `somebody ${how}s the child ${name}`);
    const key = { namespace: 'default', name };
    if (how === 'delete') this.#cluster.remove(ConfigMap, key);
    else this.#cluster.edit(ConfigMap, key, 'kubectl-edit', (child) => ({ ...child, data: { size: 'edited' } }));
  }

  /** The n-th message that waits goes to an instance, which is started for it if there is none. */
  deliver(n: number, slot: number): void {
    const isLate = n % Math.max(1, this.#messages.waiting.length) > 0;
    const message = this.#messages.take(n);
    if (message === undefined) return;
    const instance = this.#instanceAt(slot % INSTANCES);
    this.#tell('deliver', `${told(message)} is delivered to ${instance.id}`);
    if (isLate) this.#count('out of order');
    if (instance.messages.size > 0) this.#count('several at once');
    void instance.take(message).then((ack) => this.#answered(instance, message, ack));
  }

  repeat(n: number): void {
    const out = this.#living().flatMap(({ messages }) => [...messages]);
    const message = this.#messages.repeat(n, out);
    if (message !== undefined) this.#tell('repeat', `the broker will deliver ${told(message)} once more`);
  }

  lose(n: number): void {
    const message = this.#messages.lose(n);
    if (message !== undefined) this.#tell('lose', `${told(message)} is lost`);
  }

  /** Lets the n-th call under way arrive, but those of instances that are asleep. */
  step(n: number, fate: Fate = 'heard'): void {
    const asleep = new Set(this.#living().flatMap(({ id, state }) => (state === 'asleep' ? [id] : [])));
    const awake = this.#calls.filter(({ instance }) => !asleep.has(instance));
    const call = nth(awake, n);
    if (call !== undefined) this.#arrive(call, fate);
  }

  /** Lets the calls of one instance about one object arrive, one after the other, while all others wait. */
  async hurry(n: number, calls: number): Promise<void> {
    const first = nth(this.#calls, n);
    for (let left = calls; left > 0; left -= 1) {
      const call = this.#calls.find(({ instance, about }) => instance === first?.instance && about === first.about);
      const instance = this.#living().find(({ id }) => id === call?.instance);
      if (call === undefined || instance?.state !== 'awake') return;
      this.#arrive(call, 'heard');
      await flush();
    }
  }

  /** Its calls under way may still arrive. Its messages come again; or those are lost, too, that have led to a claim. */
  async die(slot: number, what: 'redelivered' | 'lost'): Promise<void> {
    const instance = this.#instances[slot % INSTANCES];
    if (instance === undefined) return;
    this.#tell(`die: ${what}`, `${instance.id} dies${what === 'lost' ? ', and its messages are lost' : ''}`);
    const messages = [...instance.messages];
    instance.state = 'dead';
    instance.messages.clear();
    this.#instances[slot % INSTANCES] = undefined;
    for (const message of messages) {
      const { item } = await this.#store.read(message.doorbell.key, NEVER);
      const { holderIdentity = '', messageId } = item?.lease ?? {};
      const hasClaimed = holderIdentity.startsWith(`${instance.id}.`) && messageId === message.id;
      this.#messages.answered(message, what === 'lost' && hasClaimed);
    }
  }

  /** It gets no more messages, and ends when it has answered those it has. */
  terminate(slot: number): void {
    const instance = this.#instances[slot % INSTANCES];
    if (instance === undefined) return;
    this.#tell('terminate', `${instance.id} is told to end`);
    this.#instances[slot % INSTANCES] = undefined;
    this.#ending.push(instance);
    instance.terminate();
  }

  sleep(slot: number): void {
    const instance = this.#instances[slot % INSTANCES];
    if (instance === undefined) return;
    instance.state = 'asleep';
    this.#tell('sleep', `${instance.id} sleeps`);
  }

  wake(clock: 'went on' | 'stood still'): void {
    for (const instance of this.#living()) {
      if (instance.state === 'asleep') this.#tell(`wake: ${clock}`, `${instance.id} wakes up; its clock ${clock}`);
      instance.wake(clock);
    }
  }

  pass(ms: number): void {
    this.story.push(`${ms} ms pass`);
    this.#clock.advance(ms);
    for (const instance of this.#living()) instance.pass(ms);
  }

  async sweep(): Promise<void> {
    const around = { ...this.#surroundings(), publisher: this.#publisher() };
    const rung = await sweep(runtimeOf('sweep', this.#clock, around), NEVER);
    if (rung > 0) this.#tell('sweep', `the sweep rings ${rung} alarms`);
  }

  census(): void {
    this.story.push('the forwarder starts anew: a census');
    this.arrived.clear();
    for (const doorbell of this.#watched.census()) this.#ring(doorbell);
  }

  /** The census that makes up for lost messages; without any, the work queue must need none. */
  recover(): void {
    if (this.#messages.hasLost) this.census();
  }

  /**
   * Lets everything happen that is owed, until nothing does any more.
   *
   * @param ill applies for this Widget fail, and nobody waits for it
   */
  async settle(ill?: Name): Promise<void> {
    this.story.push(`from here on all goes well${ill === undefined ? '' : `, but that ${ill} cannot be applied`}`);
    this.wake('went on');
    for (let quiet = 0, round = 0; quiet < 3; round += 1) {
      if (round > MAX_ROUNDS) throw new Error('bounded runs: the world does not come to rest');
      const owed = [...this.#messages.waiting, ...this.#living().flatMap(({ messages }) => [...messages])];
      const isBusy = owed.some(({ doorbell }) => doorbell.key.name !== ill);
      for (const slot of this.#messages.waiting.keys()) this.deliver(0, slot);
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

  /** Until every delivery is answered, and what the dead have sent has arrived. */
  async #letWork(ill: Name | undefined): Promise<void> {
    while (this.#living().some(({ messages }) => messages.size > 0) || this.#calls.length > 0) {
      await flush();
      for (const call of [...this.#calls]) {
        this.#arrive(call, call.about === ill && call.what === 'apply' ? 'unsent' : 'heard');
        await flush();
      }
      if (this.#calls.length === 0) this.pass(50);
    }
  }

  #living(): readonly Instance[] {
    this.#ending = this.#ending.filter(({ messages }) => messages.size > 0);
    return [...this.#instances.filter((instance) => instance !== undefined), ...this.#ending];
  }

  #instanceAt(slot: number): Instance {
    const instance = this.#instances[slot] ?? new Instance(++this.#names, (it) => this.#connect(it));
    this.#instances[slot] = instance;
    return instance;
  }

  #connect(instance: Instance): Surroundings {
    const isAlive = (): boolean => instance.state !== 'dead';
    const send = sender(instance.id, isAlive, (call) => this.#calls.push(call));
    const store = new WatchedStore(this.#store, instance.id, (kind, what) => {
      this.#tell(kind, `${kind}: ${what}`);
      if (kind === 'problem') this.#problems.push(what);
    });
    return {
      ...this.#surroundings(),
      store: new RemoteStore(store, send),
      cluster: new RemoteCluster(this.#cluster, send),
      publisher: new RemotePublisher((doorbell) => this.#ring(doorbell), send),
    };
  }

  #surroundings(): Surroundings {
    const newId = (): string => `${++this.#names}`;
    return { store: this.#store, cluster: this.#cluster, publisher: this.#publisher(), newId };
  }

  #publisher(): Surroundings['publisher'] {
    const publish = async (_topic: unknown, doorbell: Doorbell): Promise<string> => {
      this.#ring(doorbell);
      return 'rung';
    };
    return { publish, close: async () => undefined };
  }

  #ring(doorbell: Doorbell): void {
    this.#names += 1;
    const message = { id: `m${this.#names}`, doorbell };
    this.story.push(`  ${told(message)} is published`);
    this.#messages.add(message);
  }

  #arrive(call: Call, fate: Fate): void {
    const { instance, what, target, about } = call;
    this.#calls = this.#calls.filter((other) => other !== call);
    if (fate !== 'unsent') this.arrived.set(what, (this.arrived.get(what) ?? 0) + 1);
    const isLate = !this.#living().some(({ id }) => id === instance);
    this.#tell(
      fate === 'heard' ? 'call' : `${target === undefined ? 'store or broker' : 'API server'}: ${fate}`,
      `${instance}: ${what} ${target ?? `of ${about}`} ${FATES[fate]}${isLate ? ', though its sender is dead' : ''}`,
    );
    if (isLate) this.#count('late call');
    call.arrive(fate);
  }

  #answered(instance: Instance, message: Message, ack: boolean): void {
    // Whoever died has given its messages back.
    if (!instance.messages.delete(message)) return;
    this.story.push(`${instance.id} ${ack ? 'acknowledges' : 'gives back'} ${told(message)}`);
    this.#messages.answered(message, ack);
  }

  #tell(kind: string, text: string): void {
    this.#count(kind);
    this.story.push(text);
  }

  #count(kind: string): void {
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
  }
}

const FATES: Readonly<Record<Fate, string>> = {
  heard: 'arrives',
  unsent: 'never arrives',
  unheard: 'arrives, and its answer does not',
  refused: 'is refused',
};

function told({ id, doorbell }: Message): string {
  return `${id} (${doorbell.key.name}: ${doorbell.trigger})`;
}

/** Runs everything that can run without another step: nothing in these worlds waits for more than promises. */
export function flush(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
