import { randomUUID } from 'node:crypto';
import { itemsOf } from '../../../shared/adapters/firestore/document.ts';
import type { WorkQueue } from '../../../shared/queue/work-queue.ts';
import { doorbell, itemKey, news, report, seen } from '../../support/work-items.ts';
import { type Bench, CLUSTER } from './store.ts';

const { signal } = new AbortController();

export interface Cycles {
  /** Calls under way at once. */
  readonly concurrency: number;
  /** Cycles per second: a document created and updated once with the bare library; a run claimed and completed. */
  readonly bare: number;
  /** By an instance that has never heard of the objects, as after a cold start. */
  readonly cold: number;
  /** By an instance that ran the same objects before. */
  readonly warm: number;
  readonly coldRpcs: number;
  readonly warmRpcs: number;
  /** Reads for a message that tells nothing new: to another instance, and to the one that ran the object. */
  readonly noNewsReads: number;
  readonly echoReads: number;
}

/** Each kind has its turn so often: what the machine does meanwhile meets all of them. */
const TURNS = 5;

const WARM_OBJECTS = 256;

/** What a run costs, beside a bare loop that creates and updates a document on the same client. */
export async function measureCycles(bench: Bench, concurrency: number, seconds: number): Promise<Cycles> {
  const perTurn = (seconds * 1_000) / TURNS / 3;
  const sums = { bare: new Tally(), cold: new Tally(), warm: new Tally() };
  const rpcs = { cold: 0, warm: 0 };
  const counted = async (kind: 'cold' | 'warm', work: () => Promise<void>): Promise<void> => {
    bench.calls.length = 0;
    await work();
    rpcs[kind] += bench.calls.length;
  };
  const again = await warmUp(bench);
  for (let turn = 0; turn < TURNS; turn += 1) {
    await sums.bare.add(concurrency, perTurn, () => bareCycle(bench));
    const stranger = bench.instance();
    await counted('cold', () => sums.cold.add(concurrency, perTurn, () => cycle(stranger, randomUUID(), 1)));
    await counted('warm', () => sums.warm.add(concurrency, perTurn, again));
  }
  const { noNewsReads, echoReads } = await countReads(bench);
  return {
    concurrency,
    bare: sums.bare.perSecond,
    cold: sums.cold.perSecond,
    warm: sums.warm.perSecond,
    coldRpcs: rpcs.cold / sums.cold.count,
    warmRpcs: rpcs.warm / sums.warm.count,
    noNewsReads,
    echoReads,
  };
}

/** In a line, for people. */
export function describeCycles({ concurrency, bare, cold, warm, coldRpcs, warmRpcs }: Cycles): string {
  const rate = (perSecond: number): string => `${Math.round(perSecond)}/s (${(perSecond / bare).toFixed(2)})`;
  return (
    `${concurrency} at once: bare create+update ${Math.round(bare)}/s; ` +
    `claim+complete cold ${rate(cold)}, ${coldRpcs.toFixed(2)} RPCs; warm ${rate(warm)}, ${warmRpcs.toFixed(2)} RPCs`
  );
}

/** Objects that one instance has run before, and runs again in turn: each far less often than the loop breaker bears. */
async function warmUp(bench: Bench): Promise<() => Promise<void>> {
  const queue = bench.instance();
  const objects = Array.from({ length: WARM_OBJECTS }, () => ({ name: randomUUID(), version: 0 }));
  let next = 0;
  const run = async (): Promise<void> => {
    const object = objects[next++ % objects.length];
    if (object !== undefined) await cycle(queue, object.name, ++object.version);
  };
  for (const _ of objects) await run();
  return run;
}

/** Two writes, and nothing learnt: the floor of whatever keeps state in Firestore. */
async function bareCycle({ connection }: Bench): Promise<void> {
  const { db } = await connection.connect();
  const document = itemsOf(db, 'bare').doc();
  const { writeTime } = await document.create({ nonce: randomUUID() });
  await document.update({ nonce: randomUUID() }, { lastUpdateTime: writeTime });
}

/** A run that looks at the object's next version, with nothing between claim and completion. */
async function cycle(queue: WorkQueue, name: string, version: number): Promise<void> {
  const key = itemKey({ cluster: CLUSTER, name });
  const bell = doorbell(news(`${name}@${version}`), { key });
  const answered = await queue.answer(bell, `${name}-${version}`, signal);
  if (answered.kind !== 'claimed') throw new Error(`not claimed but ${answered.kind}`);
  const ended = report({ kind: 'settled' }, { uid: name, seen: seen({ versions: { [name]: String(version) } }) });
  await queue.complete(answered.claim, ended, { canRerun: false }, signal);
}

async function countReads(bench: Bench): Promise<{ readonly noNewsReads: number; readonly echoReads: number }> {
  const [queue, other, name] = [bench.instance(), bench.instance(), randomUUID()];
  await cycle(queue, name, 1);
  const bell = doorbell(news(`${name}@1`), { key: itemKey({ cluster: CLUSTER, name }) });
  const callsOf = async (instance: WorkQueue): Promise<number> => {
    bench.calls.length = 0;
    const { kind } = await instance.answer(bell, randomUUID(), signal);
    if (kind !== 'no-news') throw new Error(`news: ${kind}`);
    return bench.calls.length;
  };
  return { noNewsReads: await callsOf(other), echoReads: await callsOf(queue) };
}

/** Counts what is done within a time, by several at once. */
class Tally {
  count = 0;
  #ms = 0;

  get perSecond(): number {
    return this.count / (this.#ms / 1_000);
  }

  async add(lanes: number, ms: number, work: () => Promise<void>): Promise<void> {
    const start = performance.now();
    const worker = async (): Promise<void> => {
      while (performance.now() - start < ms) {
        await work();
        this.count += 1;
      }
    };
    await Promise.all(Array.from({ length: lanes }, worker));
    this.#ms += performance.now() - start;
  }
}
