import { TextDecoder } from 'node:util';
import { TransientError } from '../../errors.ts';

/** An event carries the metadata of one object, which the server bounds far below this. */
const LONGEST_LINE_BYTES = 4 * 1024 * 1024;

const LINE_FEED = 0x0a;

/**
 * The lines of a byte stream, however it was cut: bytes are joined before they are decoded, so a character that
 * arrives in two chunks is whole.
 *
 * Errors: `TransientError` `WATCH_CORRUPT` for a line that is too long, not UTF-8, or not finished at the end.
 */
export async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
  longestBytes: number = LONGEST_LINE_BYTES,
): AsyncIterable<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let parts: Uint8Array[] = [];
  let size = 0;

  for await (const chunk of chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      yield decoded(decoder, [...parts, chunk.subarray(start, end)]);
      parts = [];
      size = 0;
      start = end + 1;
    }
    if (start === chunk.length) continue;
    parts.push(chunk.subarray(start));
    size += chunk.length - start;
    if (size > longestBytes) throw corrupt(`a line is longer than ${longestBytes} bytes`);
  }
  if (size > 0) throw corrupt('the last line is not finished');
}

function decoded(decoder: TextDecoder, parts: readonly Uint8Array[]): string {
  try {
    return decoder.decode(parts.length === 1 ? parts[0] : Buffer.concat(parts));
  } catch (cause) {
    throw corrupt('a line is not UTF-8', cause);
  }
}

export function corrupt(problem: string, cause?: unknown): TransientError {
  return new TransientError('WATCH_CORRUPT', `cannot read the watch stream: ${problem}`, { cause });
}
