/**
 * Runs the tests on real parts: one API server and both emulators serve all files.
 *
 *   npm test                     everything
 *   npm test -- unit contract    only these folders
 *   npm test -- test/e2e/demo.test.ts   only these files
 *   npm test -- --require-all    a skipped test counts as failed (CI)
 *   DRIFTLESS_SEED=7 npm test    other random worlds for the property tests
 */
import { globSync } from 'node:fs';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { parseArgs } from 'node:util';
import { startTestParts } from './test-parts.ts';

const FOLDERS = ['unit', 'gate', 'contract', 'simulation', 'integration', 'infra', 'e2e'] as const;
/** Need the API server or an emulator; the others run without waiting for them. */
const ON_REAL_PARTS = new Set<string>(['contract', 'integration', 'infra', 'e2e']);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'require-all': { type: 'boolean', default: process.env['CI'] === 'true' } },
});
const wanted = (positionals.length > 0 ? positionals : FOLDERS).map((name) =>
  name.endsWith('.ts')
    ? { folder: name.split('/')[1] ?? '', files: [name] }
    : { folder: name, files: globSync(`test/${name}/**/*.test.ts`) },
);

const interrupt = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => interrupt.abort());

const parts = wanted.some(({ folder }) => ON_REAL_PARTS.has(folder))
  ? await startTestParts(interrupt.signal)
  : undefined;
Object.assign(process.env, parts?.env);
let counts = { passed: 0, failed: 0, skipped: 0 };
try {
  // The end-to-end tests bring up stacks of their own and want both cores for themselves.
  const together = wanted.filter(({ folder }) => folder !== 'e2e' && folder !== 'infra');
  for (const [group, concurrency] of [
    [together, 2],
    [wanted.filter(({ folder }) => folder === 'infra'), 1],
    [wanted.filter(({ folder }) => folder === 'e2e'), 1],
  ] as const) {
    const files = group.flatMap((part) => part.files).sort();
    if (files.length > 0) counts = add(counts, await runFiles(files, concurrency));
  }
} finally {
  await parts?.stop();
}

const missing = values['require-all'] ? counts.skipped : 0;
if (missing > 0) console.log(`\n${missing} tests were skipped; here that counts as failed.`);
console.log(`\n${counts.passed} passed, ${counts.failed + missing} failed, ${counts.skipped - missing} skipped`);
process.exitCode = counts.failed + missing > 0 || counts.passed === 0 ? 1 : 0;

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

async function runFiles(files: readonly string[], concurrency: number): Promise<Counts> {
  const execArgv = ['--import', new URL('fixed-seed.ts', import.meta.url).href];
  const stream = run({ files: [...files], concurrency, signal: interrupt.signal, execArgv });
  let summary: Counts = { passed: 0, failed: 0, skipped: 0 };
  stream.on('test:summary', ({ file, counts: { tests, passed, skipped, todo } }) => {
    // Whatever neither passed nor was skipped has failed or was cancelled; something left to do counts as skipped.
    if (file === undefined) summary = { passed, failed: tests - passed - skipped - todo, skipped: skipped + todo };
  });
  const report = stream.compose(spec);
  for await (const chunk of report) process.stdout.write(chunk);
  return summary;
}

function add(a: Counts, b: Counts): Counts {
  return { passed: a.passed + b.passed, failed: a.failed + b.failed, skipped: a.skipped + b.skipped };
}
