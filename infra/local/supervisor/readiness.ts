import { setTimeout as sleep } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';

const EVERY_MS = 50;
const ANSWER_WITHIN_MS = 2_000;

/** Resolves as soon as `check` says true; a check that throws says "not yet". Rejects when `signal` aborts. */
export async function untilTrue(
  check: (signal: AbortSignal) => Promise<boolean>,
  signal: AbortSignal,
  everyMs: number = EVERY_MS,
): Promise<void> {
  while (!(await check(signal).catch(() => false))) await sleep(everyMs, undefined, { signal });
  signal.throwIfAborted();
}

/** The readiness of a part that answers 2xx at `url` once it serves. */
export function answers(url: string, dispatcher?: Dispatcher): (signal: AbortSignal) => Promise<void> {
  return (signal) =>
    untilTrue(async (aborted) => {
      const { statusCode, body } = await request(url, {
        signal: AbortSignal.any([aborted, AbortSignal.timeout(ANSWER_WITHIN_MS)]),
        ...(dispatcher === undefined ? {} : { dispatcher }),
      });
      await body.dump();
      return statusCode >= 200 && statusCode < 300;
    }, signal);
}
