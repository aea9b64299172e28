import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { effort } from './effort.ts';
import { INVALID_SIZE, NAMES } from './random-widgets.ts';
import { flush, RandomWorld } from './random-world.ts';

type Command = (world: RandomWorld) => unknown;

const command = (name: string, run: (world: RandomWorld, n: number) => unknown, max = 9): fc.Arbitrary<Command> =>
  fc.nat({ max }).map((n) => {
    const called: Command = (world) => run(world, n);
    return Object.assign(called, { [fc.toStringMethod]: () => `${name}(${n})` });
  });
const widget = (n: number) => NAMES[n % NAMES.length] ?? 'w0';
const sizes = NAMES.length * (INVALID_SIZE + 1);

const commands: fc.Arbitrary<Command> = fc.oneof(
  { weight: 14, arbitrary: command('step', (world, n) => world.step(n)) },
  { weight: 10, arbitrary: command('hurry', (world, n) => world.hurry(n, n + 3)) },
  { weight: 10, arbitrary: command('deliver', (world, n) => world.deliver(n)) },
  { weight: 6, arbitrary: command('resize', (world, n) => world.resize(widget(n), Math.floor(n / 3)), sizes - 1) },
  { weight: 3, arbitrary: command('edit', (world, n) => world.meddle(n, 'edit')) },
  { weight: 2, arbitrary: command('deleteChild', (world, n) => world.meddle(n, 'delete')) },
  { weight: 2, arbitrary: command('delete', (world, n) => world.delete(widget(n))) },
  { weight: 3, arbitrary: command('unsent', (world, n) => world.step(n, 'unsent')) },
  { weight: 3, arbitrary: command('unheard', (world, n) => world.step(n, 'unheard')) },
  { weight: 2, arbitrary: command('die', (world, n) => world.die(n, 'redelivered')) },
  { weight: 2, arbitrary: command('dieWithMessage', (world, n) => world.die(n, 'lost')) },
  { weight: 2, arbitrary: command('sleep', (world, n) => world.sleep(n)) },
  { weight: 1, arbitrary: command('wake', (world, n) => world.wake(n % 2 === 0 ? 'went on' : 'stood still')) },
  { weight: 3, arbitrary: command('repeat', (world, n) => world.repeat(n)) },
  { weight: 1, arbitrary: command('lose', (world, n) => world.lose(n)) },
  { weight: 3, arbitrary: command('pass', (world, n) => world.pass(n * 1_000)) },
  { weight: 2, arbitrary: command('sweep', (world) => world.sweep()) },
);

describe('any schedule of the real pipeline, with crashes, pauses, lost replies, late calls, and messages lost, doubled and late', () => {
  it('I1 I2 I4 I5 I6 R13 R22: ends with all repaired, told and idle, whatever one object suffers; then I3: costs one read', async () => {
    const schedule = fc.array(commands, { minLength: 20, maxLength: 150, size: 'max' });
    const property = fc.asyncProperty(schedule, async (all) => {
      const world = new RandomWorld();
      await flush();
      for (const name of NAMES) world.resize(name, 1);
      for (const run of all) {
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
      world.arrived.clear();
      world.census();
      await world.settle();
      assert.deepEqual([...world.arrived], world.widgets === 0 ? [] : [['read', world.widgets]]);
      world.close();
    });
    await fc.assert(property, { numRuns: effort().randomWorlds });
  });
});
