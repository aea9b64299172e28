import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Characters; a longer line is cut into pieces, so that a part which never ends its line cannot fill the memory. */
const MAX_LINE = 64 * 1024;

/** Calls `listener` with every line of a text stream, the unfinished last one included. */
export function eachLine(stream: Readable, listener: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) listener(line);
    if (rest.length < MAX_LINE) return;
    listener(rest);
    rest = '';
  });
  stream.once('end', () => {
    rest += decoder.end();
    if (rest !== '') listener(rest);
  });
}
