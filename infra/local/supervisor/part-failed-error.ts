import { OperatorError } from '../../../shared/errors.ts';

/** A part of the local stack did not start, or ended when nothing works without it. */
export class PartFailedError extends OperatorError {
  readonly part: string;
  /** `ended with exit code 1`, `was ended by SIGKILL`, `was not ready within 60 s` … */
  readonly how: string;
  /** What it said last. */
  readonly lastLines: readonly string[];

  constructor(part: string, how: string, lastLines: readonly string[], options: { readonly cause?: unknown } = {}) {
    const said = lastLines.length === 0 ? 'It logged nothing.' : `Its last lines:\n${indent(lastLines)}`;
    super('PART_FAILED', `${part} ${how}. ${said}`, { kind: 'never' }, options);
    this.part = part;
    this.how = how;
    this.lastLines = lastLines;
  }
}

function indent(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join('\n');
}
