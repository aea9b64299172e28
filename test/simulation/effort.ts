/**
 * How much to simulate: the one place that reads the environment.
 *
 *   npm test -- simulation                                the small worlds, some random ones: under 30 s
 *   DRIFTLESS_SIMULATION=night npm test -- simulation     all worlds, and fifty times as many random ones
 *   DRIFTLESS_SEED=7 …                                    other random ones; a failure prints the seed to give here
 */
export interface Effort {
  readonly isNight: boolean;
  readonly randomWorlds: number;
}

export function effort(): Effort {
  const isNight = process.env['DRIFTLESS_SIMULATION'] === 'night';
  return { isNight, randomWorlds: isNight ? 20_000 : 400 };
}
