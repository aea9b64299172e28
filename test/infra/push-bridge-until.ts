import { setTimeout as sleep } from 'node:timers/promises';

/** Waits for something that only real processes can make true. @throws after `withinMs` */
export async function until(condition: () => boolean | Promise<boolean>, withinMs = 15_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`still not true after ${withinMs} ms: ${condition}`);
    await sleep(5);
  }
}
