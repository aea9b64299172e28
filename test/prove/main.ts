/**
 * Runs the claims of an area for real, and prints what was measured.
 *
 *   npm run prove -- skeleton
 *   npm run prove -- queue
 *   npm run prove -- skeleton --only no-write,kill-function --json proved.json
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import pc from 'picocolors';
import { messageOf } from '../../shared/errors.ts';
import type { Area, Claim, Measured, ProveContext, ProvenClaim } from './claim.ts';
import { queue } from './queue/claims.ts';
import { skeleton } from './skeleton/claims.ts';

const AREAS: Readonly<Record<string, () => Area>> = { skeleton, queue };

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' }, only: { type: 'string' } },
});
const open = AREAS[positionals[0] ?? ''];
if (open === undefined) {
  console.error(`Which area? One of: ${Object.keys(AREAS).join(', ')}. Example: npm run prove -- skeleton`);
  process.exit(2);
}

const interrupt = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interrupt.abort());
const area = open();
const only = values.only?.split(',');
const unknown = only?.filter((id) => !area.claims.some((claim) => claim.id === id)) ?? [];
if (unknown.length > 0) {
  console.error(`No such claim: ${unknown.join(', ')}. There are: ${area.claims.map(({ id }) => id).join(', ')}`);
  process.exit(2);
}

const proven: ProvenClaim[] = [];
try {
  for (const claim of area.claims.filter(({ id }) => only?.includes(id) ?? true)) {
    if (interrupt.signal.aborted) break;
    console.log(pc.dim(`\n▸ ${claim.id}: ${claim.text}`));
    const context: ProveContext = { say: (text) => console.log(pc.dim(`  ${text}`)), signal: interrupt.signal };
    const { id, text, floor } = claim;
    proven.push({ id, text, floor, ...(await prove(claim, context)) });
  }
} finally {
  await area.close();
}

for (const { id, text, floor, measured, ok } of proven) {
  console.log(`\n${ok ? pc.green('✔') : pc.red('✘')} ${pc.bold(id)}  ${text}`);
  console.log(`    floor     ${floor}\n    measured  ${measured}`);
}
const failed = proven.filter(({ ok }) => !ok).length;
console.log(`\n${proven.length - failed} of ${proven.length} claims hold.`);
if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify({ claims: proven }, null, 2)}\n`);
process.exit(failed > 0 || proven.length === 0 || interrupt.signal.aborted ? 1 : 0);

async function prove(claim: Claim, context: ProveContext): Promise<Measured> {
  try {
    return await claim.run(context);
  } catch (error) {
    return { measured: messageOf(error), ok: false };
  }
}
