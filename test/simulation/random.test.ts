import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { effort } from './effort.ts';
import type { Batch, Tried } from './random-runs.ts';

/** Not as many as there are cores, so that the same seed gives the same worlds everywhere. */
const THREADS = 2;

const NAME =
  'I1 I2 I4 I5 I6 R13 R22: ends with all repaired, told and idle, whatever one object suffers; then I3: costs one read at most';

describe('any schedule of the real pipeline, with crashes, pauses, clocks that are wrong, errors, late calls, and messages lost, doubled and late', () => {
  it(NAME, async (t) => {
    const tried = await Promise.all(batches().map(tryInThread));
    const failures = tried.flatMap(({ failure }) => (failure === undefined ? [] : [failure]));
    const counts = new Map<string, number>();
    for (const [kind, count] of tried.flatMap((one) => [...one.counts])) {
      counts.set(kind, (counts.get(kind) ?? 0) + count);
    }
    const worlds = tried.reduce((sum, one) => sum + one.worlds, 0);
    const happened = [...counts].toSorted().map(([kind, count]) => `${kind} ${count.toLocaleString('en')}`);
    t.diagnostic(happened.join(', '));
    t.diagnostic(`in all: ${worlds.toLocaleString('en')} random worlds, ${failures.length} failing`);
    if (failures.length > 0) assert.fail(failures.join('\n\n'));
    if (effort().replay === undefined) assert.deepEqual([...counts.keys()].toSorted(), KINDS);
  });
});

function batches(): readonly Batch[] {
  const { randomWorlds, seed, replay } = effort();
  if (replay !== undefined) return [{ ...replay, worlds: 1 }];
  return Array.from({ length: THREADS }, (_, i) => ({ seed: seed * THREADS + i, worlds: randomWorlds / THREADS }));
}

async function tryInThread(batch: Batch): Promise<Tried> {
  const [tried] = await once(
    new Worker(new URL('random-thread.ts', import.meta.url), { workerData: batch }),
    'message',
  );
  return tried as Tried;
}

/** All that happens in these worlds: if something does no more, that is a failure. */
const KINDS = [
  'API server: refused',
  'API server: unheard',
  'API server: unsent',
  'call',
  'delete',
  'delete a child',
  'deliver',
  'die: lost',
  'die: redelivered',
  'edit a child',
  'late call',
  'lose',
  'lost race',
  'out of order',
  'repeat',
  'resize',
  'several at once',
  'sleep',
  'store or broker: refused',
  'store or broker: unheard',
  'store or broker: unsent',
  'sweep',
  'terminate',
  'wake: stood still',
  'wake: went on',
];
