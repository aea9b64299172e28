import { randomUUID } from 'node:crypto';
import { doorbell, itemKey, news, report, seen } from '../../support/work-items.ts';
import { type Bench, CLUSTER } from './store.ts';

const { signal } = new AbortController();

export interface HotObject {
  readonly contenders: number;
  readonly rounds: number;
  /** How often exactly one of them ran, and the others were told that the news is left with it. */
  readonly right: number;
  readonly errors: number;
  /** Until the last of them was answered. Milliseconds. */
  readonly slowestMs: number;
}

/** Messages about one object arrive at as many instances, all at once. */
export async function measureHotObject(bench: Bench, contenders: number, rounds: number): Promise<HotObject> {
  const instances = Array.from({ length: contenders }, () => bench.instance());
  let [right, errors, slowestMs] = [0, 0, 0];
  for (let round = 0; round < rounds; round += 1) {
    const name = randomUUID();
    const key = itemKey({ cluster: CLUSTER, name });
    const start = performance.now();
    const answers = await Promise.allSettled(
      instances.map((queue, n) => queue.answer(doorbell(news(`${name}@${n + 1}`), { key }), randomUUID(), signal)),
    );
    slowestMs = Math.max(slowestMs, performance.now() - start);
    const answered = answers.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    errors += contenders - answered.length;
    const claims = answered.flatMap((one) => (one.kind === 'claimed' ? [one.claim] : []));
    const dirty = answered.filter(({ kind }) => kind === 'dirty');
    // Whoever is late is told nothing new when a later version was left before.
    const told = answered.filter(({ kind }) => kind === 'no-news');
    if (claims.length === 1 && dirty.length + told.length === contenders - 1) right += 1;
    const [claim] = claims;
    const versions = { [name]: String(contenders) };
    const ended = report({ kind: 'settled' }, { uid: name, seen: seen({ versions }) });
    if (claim !== undefined) await bench.instance().complete(claim, ended, { canRerun: false }, signal);
  }
  return { contenders, rounds, right, errors, slowestMs };
}
