import { execFileSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';

/** Whether a process runs. A zombie does not: it has ended, and only its parent has not looked yet. */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}

/** Polls until `condition` holds; throws with `what` after the deadline. */
export async function eventually(
  what: string,
  condition: () => boolean | Promise<boolean>,
  withinMs = 10_000,
): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (!(await condition())) {
    if (performance.now() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await sleep(20);
  }
}
