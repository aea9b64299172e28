import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type EndingKind, flush, ProtocolWorld } from './protocol-world.ts';

type Command = (world: ProtocolWorld) => unknown;

const named = (name: string, command: Command): Command => Object.assign(command, { [fc.toStringMethod]: () => name });
const numbered = (name: string, command: (world: ProtocolWorld, n: number) => unknown): fc.Arbitrary<Command> =>
  fc.nat({ max: 7 }).map((n) => named(`${name}(${n})`, (world) => command(world, n)));
const always = (name: string, command: Command): fc.Arbitrary<Command> => fc.constant(named(name, command));

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 15, arbitrary: numbered('step', (world, n) => world.step(n)) },
  { weight: 10, arbitrary: numbered('hurry', (world, n) => world.hurry(n + 3)) },
  { weight: 8, arbitrary: numbered('deliver', (world, n) => world.deliver(n)) },
  { weight: 5, arbitrary: always('changeObject', (world) => world.changeObject()) },
  { weight: 3, arbitrary: always('changeChild', (world) => world.changeChild()) },
  { weight: 6, arbitrary: numbered('fail', (world, n) => world.step(n, 'fail')) },
  { weight: 2, arbitrary: numbered('crash', (world, n) => world.crash(n, 'redelivered')) },
  { weight: 2, arbitrary: numbered('crashAndLose', (world, n) => world.crash(n, 'lost')) },
  { weight: 2, arbitrary: numbered('repeat', (world, n) => world.repeat(n)) },
  { weight: 3, arbitrary: numbered('advance', (world, n) => world.clock.advance(n * 1_000)) },
  { weight: 2, arbitrary: always('ringAlarms', (world) => world.ringAlarms()) },
  { weight: 1, arbitrary: always('ring', (world) => world.ring({ kind: 'unknown' })) },
  { weight: 1, arbitrary: always('deleteObject', (world) => world.deleteObject()) },
  { weight: 1, arbitrary: always('recreate', (world) => world.recreate()) },
);

const endings = fc.array(fc.constantFrom<EndingKind>('settled', 'settled', 'requeue', 'backoff', 'terminal'), {
  minLength: 1,
  maxLength: 6,
});

/** From the first read of a claim to the reply of its `complete`. */
const RUN_STEPS = 11;

const CHANGES: readonly (readonly [string, (world: ProtocolWorld) => void])[] = [
  ['a change of the object', (world) => world.changeObject()],
  ['a change of the child', (world) => world.changeChild()],
  ['the deletion of the object', (world) => world.deleteObject()],
  ['a new object of the same name', (world) => world.recreate()],
];

const FAULTS: readonly ((world: ProtocolWorld) => void)[] = [
  (world) => world.crash(0, 'redelivered'),
  (world) => world.crash(0, 'lost'),
  (world) => world.step(0, 'fail'),
];

/** Something changes, and another worker answers for it, while the first one waits. */
async function meanwhile(world: ProtocolWorld, apply: (world: ProtocolWorld) => void): Promise<void> {
  apply(world);
  world.deliver(0);
  await flush();
  await world.hurry(50, 'last');
}

describe('the claim → complete protocol, in any interleaving of workers, crashes, lost replies, expiries and repeats', () => {
  it('I1 and I2: no change is lost, and no worker changes what is another’s', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(command, { minLength: 10, maxLength: 60, size: 'max' }),
        endings,
        fc.array(fc.boolean(), { minLength: 1, maxLength: 6 }),
        fc.constantFrom(0, 1, 3, 100),
        fc.constantFrom(0, 0, 4),
        async (commands, chosen, canRerun, tokens, lostHolders) => {
          const world = new ProtocolWorld({ endings: chosen, canRerun, tokens, lostHolders });
          await world.start();
          for (const run of commands) {
            await run(world);
            await flush();
          }
          await world.settle();
          await world.assertConverged();
        },
      ),
      { numRuns: 1_000 },
    );
  });

  for (const [change, apply] of CHANGES) {
    it(`I1 and I4: ${change} at any step of a run that suffers any fault at any step is not lost`, async () => {
      for (const ending of ['settled', 'terminal'] as const) {
        for (const canRerun of [true, false]) {
          for (const fault of FAULTS) {
            for (let changeAt = 0; changeAt <= RUN_STEPS; changeAt += 1) {
              for (let faultAt = 0; faultAt <= RUN_STEPS; faultAt += 1) {
                const world = new ProtocolWorld({ endings: [ending], canRerun: [canRerun] });
                world.recreate();
                world.deliver(0);
                await flush();
                for (let step = 0; step <= RUN_STEPS; step += 1) {
                  if (step === changeAt) await meanwhile(world, apply);
                  if (step === faultAt) fault(world);
                  else world.step(0);
                  await flush();
                }
                await world.settle();
                await world.assertConverged();
              }
            }
          }
        }
      }
    });
  }
});
