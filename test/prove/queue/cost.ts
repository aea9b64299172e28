import { describeCycles, measureCycles } from '../../bench/queue/cycles.ts';
import { measureHotObject } from '../../bench/queue/hot-object.ts';
import { type Bench, openBench } from '../../bench/queue/store.ts';
import type { Claim } from '../claim.ts';

const CONTENDERS = 64;
const ROUNDS = 10;

export function costClaims(): readonly Claim[] {
  return [throughputClaim(), contendersClaim()];
}

function throughputClaim(): Claim {
  return {
    id: 'throughput',
    text: 'Claim and complete beside a bare create+update loop on the same client, 64 at once, against the emulator',
    floor: '≥ 0.6 of the bare loop, cold and warm; ≤ 3 calls per run; a message without news ≤ 1 read',
    run: () =>
      withBench(async (bench) => {
        await measureCycles(bench, 64, 6); // Everybody's code gets warm.
        const cycles = await measureCycles(bench, 64, 20);
        const { bare, cold, warm, coldRpcs, warmRpcs, noNewsReads, echoReads } = cycles;
        return {
          measured:
            `${describeCycles(cycles)}; no news: ${noNewsReads} read, ` +
            `${echoReads} where the instance ran the object itself`,
          ok: Math.min(cold, warm) >= 0.6 * bare && Math.max(coldRpcs, warmRpcs) <= 3 && noNewsReads <= 1,
        };
      }),
  };
}

function contendersClaim(): Claim {
  return {
    id: 'contenders',
    text: `${CONTENDERS} messages about one object at as many instances, all at once`,
    floor: `${ROUNDS} of ${ROUNDS}: one runs, the others are answered within 1 s, no error`,
    run: () =>
      withBench(async (bench) => {
        await measureHotObject(bench, CONTENDERS, 3); // The first connection takes its time.
        const { right, rounds, errors, slowestMs } = await measureHotObject(bench, CONTENDERS, ROUNDS);
        return {
          measured: `${right} of ${rounds}, ${errors} errors, the last one answered after ${Math.round(slowestMs)} ms`,
          ok: right === rounds && errors === 0 && slowestMs <= 1_000,
        };
      }),
  };
}

async function withBench<T>(measure: (bench: Bench) => Promise<T>): Promise<T> {
  const bench = await openBench();
  try {
    return await measure(bench);
  } finally {
    await bench.close();
  }
}
