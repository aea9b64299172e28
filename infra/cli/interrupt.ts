import type { Terminal } from './progress.ts';

/** Ctrl-C, as people expect it: the first ends things in order, the second at once. */
export interface Interrupt {
  readonly signal: AbortSignal;
  /** What the second Ctrl-C calls before the process exits. */
  onSecond(stop: () => Promise<void>): void;
}

/** Exit status of a command that Ctrl-C ended (128 + SIGINT). */
export const INTERRUPTED = 130;

export function listenForInterrupt(terminal: Terminal): Interrupt {
  const abort = new AbortController();
  let stopNow: () => Promise<void> = async () => undefined;
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      if (abort.signal.aborted) {
        stopNow().finally(() => process.exit(INTERRUPTED));
        return;
      }
      terminal.line('\nStopping … (Ctrl-C again stops at once)');
      abort.abort(new DOMException('interrupted', 'AbortError'));
    });
  }
  return {
    signal: abort.signal,
    onSecond: (stop) => {
      stopNow = stop;
    },
  };
}
