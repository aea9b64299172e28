/**
 * A state as a short text, the same for states that differ only in names: which worker sits in which slot, what
 * messages and attempts are called, how large versions, tokens and revisions are. What happens next can depend only on
 * the order of an object's versions, on whether a revision is the stored one, and on whether a lease is the one that is
 * held, so exploring one state of each class explores them all.
 */
import type { Version } from '../../shared/kube/version.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import { isHolder } from '../../shared/queue/lease.ts';
import type { WorkItem } from '../../shared/queue/work-item.ts';
import type { Without } from './rules.ts';
import type { Observed, State, Worker } from './world.ts';

/** @param without versions of different objects are told apart only when a mutation compares them */
export function fingerprint(state: State, without: Without): string {
  return new Naming(state, without).text();
}

/** The state's own names for things, replaced by their ranks. */
class Naming {
  readonly #state: State;
  readonly #oneOrder: boolean;
  readonly #inOneStep: boolean;
  /** Per object, unless there is one order for all. */
  readonly #ranks = new Map<string, number[]>();
  readonly #messages = new Map<string, number>();

  constructor(state: State, without: Without) {
    this.#state = state;
    this.#oneOrder = without.has('seen per object');
    this.#inOneStep = !without.has('swap in one step');
    for (const { uid, version } of versionsIn(state)) {
      const name = this.#oneOrder ? '' : uid;
      const versions = this.#ranks.get(name);
      if (versions === undefined) this.#ranks.set(name, [version]);
      else if (!versions.includes(version)) versions.push(version);
    }
    for (const versions of this.#ranks.values()) versions.sort((x, y) => x - y);
  }

  text(): string {
    const { object, child, messages, workers, budget, stored, kept } = this.#state;
    const bells = messages
      .map(({ id, doorbell, where }) => ({ id, text: `${where} ${this.#bell(doorbell)}` }))
      .sort((x, y) => (x.text < y.text ? -1 : 1));
    for (const [i, { id }] of bells.entries()) this.#messages.set(id, i);
    const people = workers
      .flatMap((worker) => (worker === null ? [] : [{ id: worker.id, text: this.#worker(worker) }]))
      .sort((x, y) => (x.text < y.text ? -1 : 1));
    const holder = people.findIndex(({ id }) => id === stored?.item.lease?.holderIdentity);
    return [
      object === null ? '' : `${this.#v(object)} ${object.generation} ${object.spec} ${object.observed}`,
      child === null ? '' : `${this.#v(child)} ${child.spec} ${child.owner} ${child.token}`,
      bells.map(({ text }) => text).join(';'),
      people.map(({ text }) => text).join(';'),
      stored === null ? '' : `${this.#item(stored.item)} ${holder}`,
      Object.values(budget).join(),
      kept,
    ].join('|');
  }

  #worker({ messageId, overslept, phase }: Worker): string {
    const head = `${this.#messages.get(messageId)} ${overslept} ${phase.kind}`;
    switch (phase.kind) {
      case 'answering': {
        // What was decided follows from what was read; and a swap that will be lost is decided anew.
        const isCurrent = phase.read.revision === this.#state.stored?.revision;
        return `${head} ${isCurrent ? `${phase.aim} ${this.#due(phase.item.alarm?.wakeAt)}` : 'stale'}`;
      }
      case 'running': {
        const { item, revision } = phase.claim;
        // While it is held, nobody else changes what the holder knows of it.
        const isHeld = isHolder(this.#state.stored?.item, item.lease);
        const known = isHeld ? 'held' : this.#known(item);
        return `${head} ${this.#current(revision)} ${known} ${this.#observed(phase.observed)}`;
      }
      case 'completing': {
        const { held, claim, observed, ending, read } = phase;
        const isHeld = isHolder(this.#state.stored?.item, held);
        return `${head} ${isHeld} ${this.#current(read.revision)} ${this.#known(claim.item)} ${this.#observed(observed)} ${ending.kind}`;
      }
      case 'ringing':
        return head;
    }
  }

  #current(revision: number | undefined): boolean {
    return this.#inOneStep || revision === this.#state.stored?.revision;
  }

  #item(item: WorkItem): string {
    const { lease, dirty, failures, unfinished, alarm, uid } = item;
    const soiled = dirty.kind === 'versions' ? this.#vs(dirty.versions) : dirty.kind;
    const held = lease === null ? '' : `until ${this.#due(lease.renewTime + lease.leaseDurationMs)}`;
    const message = lease === null ? '' : this.#messages.get(lease.messageId);
    const due = alarm === null ? '' : `${alarm.reason} ${this.#due(alarm.wakeAt)}`;
    const open = unfinished === null ? '' : `${unfinished.uid} ${unfinished.generation} ${unfinished.claims}`;
    return `${uid} ${held} for ${message} ${soiled} ${failures} ${open} ${due} ${this.#known(item)}`;
  }

  #known({ seen, children }: WorkItem): string {
    const versions = Object.entries(seen.versions).map(([uid, version]) => this.#v({ uid, version: Number(version) }));
    const made = children.map(({ uid, mayReturn }) => `${uid} ${mayReturn}`);
    return `${seen.generation} ${versions.sort().join()} ${seen.gone.join()} ${made.join()}`;
  }

  #observed({ object, child }: Observed): string {
    const o = object ? `${this.#v(object)} ${object.generation} ${object.spec} ${object.observed}` : absent(object);
    const c = child ? `${this.#v(child)} ${child.spec} ${child.owner}` : absent(child);
    return `${o} + ${c}`;
  }

  #bell({ news, uid, generation, deleted }: Doorbell): string {
    return `${'versions' in news ? this.#vs(news.versions) : news.kind} ${uid} ${generation} ${deleted}`;
  }

  #vs(versions: readonly Version[]): string {
    return versions.map(({ uid, resourceVersion }) => this.#v({ uid, version: Number(resourceVersion) })).join();
  }

  #v({ uid, version }: Versioned): string {
    return `${uid}@${this.#ranks.get(this.#oneOrder ? '' : uid)?.indexOf(version)}`;
  }

  /** How long it is until then; the microseconds that writes take make no difference. */
  #due(at: number | undefined): number {
    const left = (at ?? 0) - this.#state.micros / 1000;
    return left <= 0 ? 0 : Math.max(1, Math.round(left));
  }
}

function absent(what: null | undefined): string {
  return what === null ? 'none' : 'unread';
}

interface Versioned {
  readonly uid: string;
  readonly version: number;
}

function versionsIn({ object, child, messages, workers, stored }: State): readonly Versioned[] {
  const found: Versioned[] = [];
  const add = (versions: readonly Version[]): void => {
    for (const { uid, resourceVersion } of versions) found.push({ uid, version: Number(resourceVersion) });
  };
  const addItem = ({ seen, dirty }: WorkItem): void => {
    for (const uid of Object.keys(seen.versions)) found.push({ uid, version: Number(seen.versions[uid]) });
    if (dirty.kind === 'versions') add(dirty.versions);
  };
  if (object !== null) found.push(object);
  if (child !== null) found.push(child);
  for (const { doorbell } of messages) if ('versions' in doorbell.news) add(doorbell.news.versions);
  if (stored !== null) addItem(stored.item);
  for (const worker of workers) {
    if (worker === null || !('claim' in worker.phase)) continue;
    const { claim, observed } = worker.phase;
    addItem(claim.item);
    if (observed.object) found.push(observed.object);
    if (observed.child) found.push(observed.child);
  }
  return found;
}
