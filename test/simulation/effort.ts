/**
 * How much to simulate: the one place that reads the environment.
 *
 *   npm test -- simulation                                the small worlds, some random ones: seconds
 *   DRIFTLESS_SIMULATION=ci npm test -- simulation        the large worlds as well, 10,000 random ones: two minutes
 *   DRIFTLESS_SIMULATION=night npm test -- simulation     100,000 random ones: a quarter of an hour
 *   DRIFTLESS_SEED=7 …                                    other random worlds
 *   DRIFTLESS_REPLAY=7:12:0:3 …                           the one random world that a failure has named
 */
import { LARGE, SMALL, type World } from './worlds.ts';

export interface Effort {
  readonly worlds: readonly World[];
  readonly randomWorlds: number;
  /** The seed of the first random worlds. */
  readonly seed: number;
  /** Which world to run, and nothing else: its seed, and its path. */
  readonly replay: { readonly seed: number; readonly path: string } | undefined;
}

const EFFORTS = {
  quick: { worlds: SMALL, randomWorlds: 1_000 },
  ci: { worlds: [...SMALL, ...LARGE], randomWorlds: 10_000 },
  night: { worlds: [...SMALL, ...LARGE], randomWorlds: 100_000 },
} as const;

export function effort(): Effort {
  const { DRIFTLESS_SIMULATION: name = 'quick', DRIFTLESS_SEED: seed = '1', DRIFTLESS_REPLAY: replay } = process.env;
  if (!(name === 'quick' || name === 'ci' || name === 'night')) {
    throw new Error(`DRIFTLESS_SIMULATION is '${name}'; it can be quick, ci or night`);
  }
  const [first = '', ...path] = replay?.split(':') ?? [];
  return {
    ...EFFORTS[name],
    seed: Number(seed),
    replay: replay === undefined ? undefined : { seed: Number(first), path: path.join(':') },
  };
}
