/**
 * How much to simulate: the one place that reads the environment.
 *
 *   npm test -- simulation                              the small worlds
 *   DRIFTLESS_SIMULATION=night npm test -- simulation   all worlds
 */
export interface Effort {
  readonly isNight: boolean;
}

export function effort(): Effort {
  return { isNight: process.env['DRIFTLESS_SIMULATION'] === 'night' };
}
