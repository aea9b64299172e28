/** Many random worlds: what is tried in them, and the one that fails, made as small as fast-check can make it. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { INVALID_SIZE, NAMES } from './random-widgets.ts';
import { flush, RandomWorld } from './random-world.ts';

export interface Batch {
  readonly seed: number;
  readonly worlds: number;
  /** Only the world that a failure has named. */
  readonly path?: string;
}

export interface Tried {
  readonly worlds: number;
  /** How often each kind of thing happened in them. */
  readonly counts: ReadonlyMap<string, number>;
  /** What happened in the smallest world that fails. */
  readonly failure: string | undefined;
}

type Command = (world: RandomWorld) => unknown;

const widget = (n: number) => NAMES[n % NAMES.length] ?? 'w0';
const sizes = NAMES.length * (INVALID_SIZE + 1);
/** Something that happens to the n-th of whatever there is, and, where two are needed, to the m-th of others. */
const command = (weight: number, run: (world: RandomWorld, n: number, m: number) => unknown, max = 9) => ({
  weight,
  arbitrary: fc.tuple(fc.nat({ max }), fc.nat({ max: 2 })).map(
    ([n, m]): Command =>
      (world) =>
        run(world, n, m),
  ),
});

const commands: fc.Arbitrary<Command> = fc.oneof(
  command(14, (world, n) => world.step(n)),
  command(10, (world, n) => world.hurry(n, n + 3)),
  command(10, (world, n, m) => world.deliver(n, m)),
  command(6, (world, n) => world.resize(widget(n), Math.floor(n / 3)), sizes - 1),
  command(3, (world, n) => world.meddle(n, 'edit')),
  command(2, (world, n) => world.meddle(n, 'delete')),
  command(2, (world, n) => world.delete(widget(n))),
  command(3, (world, n) => world.step(n, 'unsent')),
  command(3, (world, n) => world.step(n, 'unheard')),
  command(2, (world, n) => world.step(n, 'refused')),
  command(2, (world, _, m) => world.die(m, 'redelivered')),
  command(2, (world, _, m) => world.die(m, 'lost')),
  command(2, (world, _, m) => world.terminate(m)),
  command(2, (world, _, m) => world.sleep(m)),
  command(1, (world, n) => world.wake(n % 2 === 0 ? 'went on' : 'stood still')),
  command(3, (world, n) => world.repeat(n)),
  command(1, (world, n) => world.lose(n)),
  command(3, (world, n) => world.pass(n * 1_000)),
  command(2, (world) => world.sweep()),
);
const schedules = fc.array(commands, { minLength: 20, maxLength: 150, size: 'max' });

export async function tryWorlds({ seed, worlds, path }: Batch): Promise<Tried> {
  const counts = new Map<string, number>();
  const property = fc.asyncProperty(schedules, async (schedule) => {
    // Lets the process do something else once in a while.
    await new Promise((resolve) => setImmediate(resolve));
    const world = new RandomWorld();
    try {
      await live(world, schedule);
    } catch (error) {
      throw new Error([error instanceof Error ? error.message : error, ...world.story].join('\n  '));
    } finally {
      world.close();
    }
    for (const [kind, count] of world.counts) counts.set(kind, (counts.get(kind) ?? 0) + count);
  });
  const details = await fc.check(property, { seed, numRuns: worlds, ...(path === undefined ? {} : { path }) });
  const { failed, numRuns, errorInstance, counterexamplePath } = details;
  const replay = `DRIFTLESS_REPLAY=${details.seed}:${counterexamplePath} npm test -- simulation`;
  const failure = failed ? `${(errorInstance as Error).message}\nTo see it again: ${replay}` : undefined;
  return { worlds: numRuns, counts, failure };
}

async function live(world: RandomWorld, schedule: readonly Command[]): Promise<void> {
  await flush();
  for (const name of NAMES) world.resize(name, 1);
  for (const run of schedule) {
    await run(world);
    await flush();
  }
  world.recover();
  await world.settle('w0');
  assert.deepEqual(await world.problems('w0'), []);
  await world.settle();
  assert.deepEqual(await world.problems(), []);

  // The first one may tell of a write that no completed run knows of.
  world.census();
  await world.settle();
  world.census();
  await world.settle();
  const { read = 0, ...others } = Object.fromEntries(world.arrived);
  assert.deepEqual(others, {}, 'I3: no news costs nothing but reads');
  assert(read <= world.widgets, `I3: no news of ${world.widgets} objects costs ${read} reads`);
}
