/**
 * A state as a number, the same for states that differ only in names: which object is the first, which worker sits in
 * which slot, what messages and attempts are called, how large versions, tokens and revisions are. What happens next
 * can depend only on the order of an object's versions, on whether a revision is the stored one, and on whether a lease
 * is the one that is held, so exploring one state of each class explores them all.
 *
 * Numbers have 52 bits: with a million states, two are mistaken for each other with a probability of about one in ten
 * thousand.
 */
import type { Version } from '../../shared/kube/version.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import { isHolder } from '../../shared/queue/lease.ts';
import type { WorkItem } from '../../shared/queue/work-item.ts';
import { Hash } from './hash.ts';
import type { Without } from './rules.ts';
import { Versions } from './versions.ts';
import type { ApiChild, ApiObject, Message, Observed, State, Worker } from './world.ts';

/** @param without versions of different objects are told apart only when a mutation compares them */
export function fingerprint(state: State, without: Without): number {
  const prints = state.places.map((_, at) => new Naming(state, at, without).print());
  // An object that is ill is not like the other.
  if (!state.isFirstIll) prints.sort((x, y) => x - y);
  const hash = new Hash();
  for (const print of prints) hash.add(print);
  const { specs, ...counts } = state.budget;
  hash.add(specs.length);
  for (const count of Object.values(counts)) hash.add(count);
  hash.add(state.kept ? 1 : 0);
  return hash.value;
}

/** One object with its messages and workers: their names, replaced by their ranks. */
class Naming {
  readonly #state: State;
  readonly #at: number;
  readonly #inOneStep: boolean;
  readonly #versions: Versions;
  #messages: readonly Message[] = [];

  constructor(state: State, at: number, without: Without) {
    this.#state = state;
    this.#at = at;
    this.#inOneStep = !without.has('swap in one step');
    this.#versions = new Versions(state, at, without.has('seen per object'));
  }

  print(): number {
    const { messages, workers, places } = this.#state;
    const place = places[this.#at];
    const bells = messages
      .filter(({ at }) => at === this.#at)
      .map((message) => [this.#bell(message), message] as const);
    bells.sort(([x], [y]) => x - y);
    this.#messages = bells.map(([, message]) => message);
    const holder = place?.stored?.item.lease?.holderIdentity;
    const people: number[] = [];
    for (const worker of workers) if (worker?.at === this.#at) people.push(this.#worker(worker, holder));
    people.sort((x, y) => x - y);
    const hash = new Hash();
    this.#object(hash, place?.object);
    this.#child(hash, place?.child);
    hash.add(bells.length);
    for (const [print] of bells) hash.add(print);
    for (const print of people) hash.add(print);
    if (place?.stored) this.#item(hash, place.stored.item);
    return hash.value;
  }

  #bell({ doorbell, where }: Message): number {
    const { news, uid, generation, deleted }: Doorbell = doorbell;
    const hash = new Hash();
    hash.word(where);
    hash.word(news.kind);
    if ('versions' in news) this.#vs(hash, news.versions);
    hash.word(uid);
    hash.add(generation ?? -1);
    hash.add(deleted === true ? 1 : 0);
    return hash.value;
  }

  #worker({ id, messageId, overslept, phase }: Worker, holder: string | undefined): number {
    const hash = new Hash();
    hash.add(this.#message(messageId));
    hash.add((overslept ? 1 : 0) + (id === holder ? 2 : 0));
    hash.word(phase.kind);
    const stored = this.#state.places[this.#at]?.stored;
    switch (phase.kind) {
      case 'answering': {
        // What was decided follows from what was read; and a swap that will be lost is decided anew.
        if (phase.read.revision !== stored?.revision) break;
        hash.word(phase.aim);
        hash.add(this.#due(phase.item.alarm?.wakeAt));
        break;
      }
      case 'running': {
        const { item, revision } = phase.claim;
        hash.add(this.#current(revision));
        // While it is held, nobody else changes what the holder knows of it.
        if (!isHolder(stored?.item, item.lease)) this.#known(hash, item);
        this.#observed(hash, phase.observed);
        break;
      }
      case 'completing': {
        const { held, claim, observed, ending, read } = phase;
        hash.add(isHolder(stored?.item, held) ? 1 : 0);
        hash.add(this.#current(read.revision));
        this.#known(hash, claim.item);
        this.#observed(hash, observed);
        hash.word(ending.kind);
        break;
      }
      case 'ringing':
    }
    return hash.value;
  }

  #message(id: string): number {
    return this.#messages.findIndex((message) => message.id === id);
  }

  #current(revision: number | undefined): number {
    return this.#inOneStep || revision === this.#state.places[this.#at]?.stored?.revision ? 1 : 0;
  }

  #item(hash: Hash, item: WorkItem): void {
    const { lease, dirty, failures, unfinished, alarm, uid } = item;
    hash.word(uid);
    if (lease !== null) {
      hash.add(this.#due(lease.renewTime + lease.leaseDurationMs));
      hash.add(this.#message(lease.messageId));
    }
    hash.word(dirty.kind);
    if (dirty.kind === 'versions') this.#vs(hash, dirty.versions);
    hash.add(failures);
    if (unfinished !== null) {
      hash.word(unfinished.uid);
      hash.add(unfinished.generation ?? -1);
      hash.add(unfinished.claims);
    }
    hash.word(alarm?.reason);
    hash.add(this.#due(alarm?.wakeAt));
    this.#known(hash, item);
  }

  #known(hash: Hash, { seen, children }: WorkItem): void {
    hash.add(seen.generation ?? -1);
    // In whatever order they were learnt.
    let versions = 0;
    for (const uid of Object.keys(seen.versions)) versions += this.#versions.of(uid, Number(seen.versions[uid]));
    hash.add(versions);
    for (const uid of seen.gone) hash.word(uid);
    hash.add(children.length);
    for (const { uid, mayReturn } of children) {
      hash.word(uid);
      hash.add(mayReturn === true ? 1 : 0);
    }
  }

  #observed(hash: Hash, { object, child }: Observed): void {
    this.#object(hash, object);
    this.#child(hash, child);
  }

  #object(hash: Hash, object: ApiObject | null | undefined): void {
    hash.word(isThere(object));
    if (!object) return;
    hash.add(this.#versions.of(object.uid, object.version));
    hash.add(object.generation);
    hash.word(object.spec);
    hash.add(object.observed ?? -1);
  }

  #child(hash: Hash, child: ApiChild | null | undefined): void {
    hash.word(isThere(child));
    if (!child) return;
    hash.add(this.#versions.of(child.uid, child.version));
    hash.word(child.spec);
    hash.word(child.owner);
    hash.add(child.token);
  }

  #vs(hash: Hash, versions: readonly Version[]): void {
    hash.add(versions.length);
    for (const { uid, resourceVersion } of versions) hash.add(this.#versions.of(uid, Number(resourceVersion)));
  }

  /** How long it is until then; the microseconds that writes take make no difference. */
  #due(at: number | undefined): number {
    const left = (at ?? 0) - this.#state.micros / 1000;
    return left <= 0 ? 0 : Math.max(1, Math.round(left));
  }
}

function isThere(what: object | null | undefined): string {
  if (what === undefined) return 'unread';
  return what === null ? 'none' : 'there';
}
