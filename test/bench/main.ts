/**
 * Measures an area on real parts, and prints the figures.
 *
 *   npm run bench -- queue
 *   npm run bench -- queue --json queue.json
 *
 * What counts are ratios of one run: absolute figures are about the machine.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { benchQueue } from './queue/report.ts';

/** An area measures, says what it sees, and returns what `--json` is to hold. */
type Area = (say: (text: string) => void) => Promise<object>;

const AREAS: Readonly<Record<string, Area>> = { queue: benchQueue };

const { values, positionals } = parseArgs({ allowPositionals: true, options: { json: { type: 'string' } } });
const area = AREAS[positionals[0] ?? ''];
if (area === undefined) {
  console.error(`Which area? One of: ${Object.keys(AREAS).join(', ')}. Example: npm run bench -- queue`);
  process.exit(2);
}
const figures = await area((text) => console.log(text));
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(figures, null, 2)}\n`);
