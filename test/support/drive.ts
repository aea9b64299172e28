import { setImmediate as turn } from 'node:timers/promises';
import type { FakeClock } from './fake-clock.ts';

/** Lets time pass, a little at each turn of the event loop, until `work` is done. */
export async function drive<T>(clock: FakeClock, work: Promise<T>, stepMs = 5): Promise<T> {
  let done = false;
  const settled = work.finally(() => {
    done = true;
  });
  settled.catch(() => undefined); // Whoever awaits the result gets it.
  while (!done) {
    await turn();
    if (!done) clock.advance(stepMs);
  }
  return settled;
}
