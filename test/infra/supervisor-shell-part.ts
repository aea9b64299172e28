import type { Part } from '../../infra/local/part.ts';

/** A part that is a shell script, and ready at once unless said otherwise. */
export function shellPart(name: string, script: string, options: Partial<Part> = {}): Part {
  return {
    name,
    command: 'sh',
    args: ['-c', script],
    ready: () => Promise.resolve(),
    usuallyMs: 10,
    whenItEnds: 'fail',
    ...options,
  };
}
