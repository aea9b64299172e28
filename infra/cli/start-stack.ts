import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { type Stack, startStack } from '../local/stack.ts';
import type { Interrupt } from './interrupt.ts';
import type { StackFlags } from './options.ts';
import { showProgress, type Terminal } from './progress.ts';

export interface StartStackOptions {
  readonly flags: StackFlags;
  readonly environment: Environment;
  readonly interrupt: Interrupt;
  readonly terminal: Terminal;
}

/** Starts the stack as a command does: shown as it comes up, stopped by the first Ctrl-C, killed by the second. */
export function startStackFor({ flags, environment, interrupt, terminal }: StartStackOptions): Promise<Stack> {
  return startStack({
    ...flags,
    environment,
    onEvent: showProgress(terminal),
    onSupervisor: (supervisor) => interrupt.onSecond(() => supervisor.stopNow()),
    signal: interrupt.signal,
  });
}
