import type { Clock } from '../../../shared/ports/clock.ts';

/** A pause that was cut short by `signal` is no failure. */
export async function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  try {
    await clock.sleep(ms, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}
