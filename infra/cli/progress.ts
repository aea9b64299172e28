import pc from 'picocolors';
import type { StackEvent } from '../local/stack.ts';

/** Where the commands talk to people. Machines read `--json FILE`. */
export interface Terminal {
  line(text?: string): void;
}

export const STDOUT: Terminal = { line: (text = '') => console.log(text) };

/** Prints how a stack comes up, one line per part, and long builds as they go. */
export function showProgress(terminal: Terminal): (event: StackEvent) => void {
  return (event) => {
    switch (event.kind) {
      case 'note':
        terminal.line(`  ${pc.dim('·')} ${event.text}`);
        return;
      case 'ready':
        terminal.line(`  ${pc.green('✔')} ${event.part.padEnd(24)} ${pc.dim(seconds(event.afterMs))}`);
        return;
      case 'restarting':
        terminal.line(`  ${pc.yellow('↻')} ${event.part} ${event.how} and is started again`);
        return;
    }
  };
}

export function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}
