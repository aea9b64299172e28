import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../shared/errors.ts';

/** Something that should have come about did not. */
export class StepTimeoutError extends OperatorError {
  constructor(message: string) {
    super('DEMO_STEP_FAILED', message, { kind: 'never' });
  }
}

const EVERY_MS = 10;
const LONGEST_MS = 60_000;

/** Asks until `check` says true. @throws {StepTimeoutError} after a minute */
export async function until(what: string, signal: AbortSignal, check: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + LONGEST_MS;
  while (!(await check())) {
    if (performance.now() > deadline)
      throw new StepTimeoutError(`after ${LONGEST_MS / 1000} s it is still not so: ${what}`);
    await sleep(EVERY_MS, undefined, { signal });
  }
}
