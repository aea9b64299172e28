import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Asks until `check` says yes; for real processes only, whose time cannot be faked.
 *
 * @returns after how many milliseconds it did
 * @throws when it does not within `withinMs`
 */
export async function until(
  what: string,
  check: () => Promise<boolean>,
  { withinMs = 60_000, everyMs = 5 }: { readonly withinMs?: number; readonly everyMs?: number } = {},
): Promise<number> {
  const start = performance.now();
  while (!(await check())) {
    if (performance.now() - start > withinMs) throw new Error(`after ${withinMs} ms it is still not so: ${what}`);
    await sleep(everyMs);
  }
  return performance.now() - start;
}
