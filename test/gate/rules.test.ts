import assert from 'node:assert/strict';
import { before, describe, it } from 'node:test';
import { type Finding, lint } from './lint.ts';

interface Case {
  readonly claim: string;
  readonly file: string;
  readonly text: string;
  /** What the gate says, in the order of lines. */
  readonly rules: readonly string[];
}

const WAIT = 'declare function wait(): Promise<void>;\n';

const LANGUAGE: readonly Case[] = [
  { claim: 'refuses any', file: 'any.ts', text: 'export const x: any = 1;\n', rules: ['suspicious/noExplicitAny'] },
  {
    claim: 'refuses a non-null assertion',
    file: 'non-null.ts',
    text: 'export const first = (list: readonly string[]): string => list[0]!;\n',
    rules: ['style/noNonNullAssertion'],
  },
  {
    claim: 'refuses a promise that nobody awaits',
    file: 'floating.ts',
    text: `${WAIT}export function go(): void {\n  wait();\n}\n`,
    rules: ['nursery/noFloatingPromises'],
  },
  {
    claim: 'refuses a promise as a condition',
    file: 'misused.ts',
    text: `${WAIT}export const go = (): number => (wait() ? 1 : 2);\n`,
    rules: ['nursery/noMisusedPromises', 'suspicious/noUnnecessaryConditions'],
  },
  {
    claim: 'refuses an async function where nobody waits for it',
    file: 'misused-callback.ts',
    text: `${WAIT}export const go = (list: number[]): void => {\n  list.forEach(async () => wait());\n};\n`,
    rules: ['complexity/noForEach', 'nursery/noMisusedPromises'],
  },
  {
    claim: 'refuses a switch that forgets a case',
    file: 'switch.ts',
    text: "export function f(x: 'a' | 'b'): number {\n  switch (x) {\n    case 'a':\n      return 1;\n  }\n  return 2;\n}\n",
    rules: ['nursery/useExhaustiveSwitchCases'],
  },
  {
    claim: 'refuses an import cycle, also one of types',
    file: 'cycle-a.ts',
    text: "import type { B } from './cycle-b.ts';\n\nexport type A = B | 1;\n",
    rules: ['suspicious/noImportCycles'],
  },
  {
    claim: 'refuses the other half of the cycle',
    file: 'cycle-b.ts',
    text: "import type { A } from './cycle-a.ts';\n\nexport type B = A | 2;\n",
    rules: ['suspicious/noImportCycles'],
  },
  {
    claim: 'refuses an import that is not used',
    file: 'unused-import.ts',
    text: "import { join } from 'node:path';\n\nexport const x = 1;\n",
    rules: ['correctness/noUnusedImports'],
  },
  {
    claim: 'refuses a variable and a parameter that are not used',
    file: 'unused.ts',
    text: 'export const f = (unused: number): number => {\n  const x = 1;\n  return 2;\n};\n',
    rules: ['correctness/noUnusedFunctionParameters', 'correctness/noUnusedVariables'],
  },
  {
    claim: 'refuses a type that is imported as a value',
    file: 'import-type.ts',
    text: "import { ReadableStream } from 'node:stream/web';\n\nexport type X = ReadableStream;\n",
    rules: ['style/useImportType'],
  },
  {
    claim: 'refuses a default export',
    file: 'default-export.ts',
    text: 'export default 1;\n',
    rules: ['style/noDefaultExport'],
  },
  {
    claim: 'refuses a file name that is not in kebab case',
    file: 'CamelCase.ts',
    text: 'export const x = 1;\n',
    rules: ['style/useFilenamingConvention'],
  },
  {
    claim: 'refuses the export of a whole module',
    file: 're-export.ts',
    text: "export * from './clean.ts';\n",
    rules: ['performance/noReExportAll'],
  },
  {
    claim: 'refuses a swallowed error',
    file: 'swallowed.ts',
    text: 'export function f(g: () => void): void {\n  try {\n    g();\n  } catch {}\n}\n',
    rules: ['suspicious/noEmptyBlockStatements'],
  },
  {
    claim: 'refuses a throw of something that is no error',
    file: 'throw.ts',
    text: "export function f(): void {\n  throw 'no';\n}\n",
    rules: ['style/useThrowOnlyError'],
  },
  { claim: 'refuses an enum', file: 'enum.ts', text: 'export enum X {\n  A = 1,\n}\n', rules: ['style/noEnum'] },
  {
    claim: 'refuses a package that package.json does not name',
    file: 'undeclared.ts',
    text: "import { x } from 'left-pad';\n\nexport const y = x;\n",
    rules: ['correctness/noUndeclaredDependencies', 'correctness/noUnresolvedImports'],
  },
  {
    claim: 'refuses a built-in module without its protocol',
    file: 'protocol.ts',
    text: "import { join } from 'path';\n\nexport const x = join;\n",
    rules: ['style/useNodejsImportProtocol'],
  },
  { claim: 'accepts clean code', file: 'clean.ts', text: 'export const x = 1;\n', rules: [] },
].map((entry) => ({ ...entry, file: `infra/${entry.file}` }));

const AMBIENT: readonly Case[] = [
  {
    claim: 'refuses Date.now in a rule',
    file: 'shared/queue/a.ts',
    text: 'export const x = Date.now();\n',
    rules: ['plugin'],
  },
  { claim: 'refuses new Date()', file: 'shared/watch/a.ts', text: 'export const x = new Date();\n', rules: ['plugin'] },
  {
    claim: 'refuses a Date taken apart',
    file: 'shared/watch/b.ts',
    text: 'const { now } = Date;\nexport const x = now;\n',
    rules: ['plugin'],
  },
  {
    claim: 'refuses Math.random in a pipeline',
    file: 'shared/reconcile/run.ts',
    text: 'export const x = Math.random();\n',
    rules: ['plugin'],
  },
  {
    claim: 'refuses an identifier out of nowhere',
    file: 'shared/queue/b.ts',
    text: "import { randomUUID } from 'node:crypto';\n\nexport const x = randomUUID();\nexport const y = crypto.randomUUID();\n",
    rules: ['plugin', 'plugin', 'plugin', 'style/noRestrictedGlobals'],
  },
  {
    claim: 'refuses timers in a pipeline',
    file: 'shared/queue/work-queue.ts',
    text: 'export const a = setTimeout(() => 1, 5);\nexport const b = setInterval(() => 1, 5);\nexport const c = AbortSignal.timeout(5);\n',
    rules: ['style/noRestrictedGlobals', 'style/noRestrictedGlobals', 'plugin'],
  },
  {
    claim: 'refuses the monotonic clock of the process',
    file: 'shared/reconcile/b.ts',
    text: 'export const x = performance.now();\n',
    rules: ['style/noRestrictedGlobals'],
  },
  {
    claim: 'refuses settings in a rule',
    file: 'shared/reconcile/c.ts',
    text: "export const x = process.env['X'];\n",
    rules: ['style/noProcessEnv', 'style/noRestrictedGlobals'],
  },
  {
    claim: 'refuses the way around through globalThis',
    file: 'shared/reconcile/d.ts',
    text: 'export const x = globalThis.performance;\n',
    rules: ['style/noRestrictedGlobals'],
  },
  {
    claim: 'refuses the network in a plan',
    file: 'functions/controllers/app/controller.ts',
    text: "export const x = fetch('http://example.com');\n",
    rules: ['style/noRestrictedGlobals'],
  },
  {
    claim: 'refuses a clock in a plan',
    file: 'functions/controllers/app/children.ts',
    text: 'export const x = Date.now();\n',
    rules: ['plugin'],
  },
  {
    claim: 'refuses the present in the text of times',
    file: 'shared/kube/builtin.ts',
    text: 'export const x = new Date();\nexport const y = Date.now();\n',
    rules: ['plugin', 'plugin'],
  },
  {
    claim: 'lets the text of times turn an epoch into a Date',
    file: 'shared/kube/time.ts',
    text: 'export const x = (epochMs: number): string => new Date(epochMs).toISOString();\n',
    rules: [],
  },
  {
    claim: 'lets adapters read the clock',
    file: 'shared/adapters/system/clock.ts',
    text: 'export const x = [Date.now(), performance.now(), setTimeout(() => 1, 5), Math.random()];\n',
    rules: [],
  },
  {
    claim: 'refuses settings outside of config.ts and main.ts',
    file: 'functions/runtime.ts',
    text: "export const x = process.env['X'];\n",
    rules: ['style/noProcessEnv'],
  },
  {
    claim: 'lets config.ts read settings',
    file: 'functions/config.ts',
    text: "export const x = process.env['X'];\n",
    rules: [],
  },
  {
    claim: 'lets main.ts read settings',
    file: 'infra/forwarder/main.ts',
    text: "export const x = process.env['X'];\n",
    rules: [],
  },
  {
    claim: 'refuses the console in what is deployed',
    file: 'functions/log.ts',
    text: "console.log('x');\n",
    rules: ['suspicious/noConsole'],
  },
  { claim: 'lets the CLI speak', file: 'infra/cli/speak.ts', text: "console.log('x');\n", rules: [] },
];

describe('the gate: lint', () => {
  let findings: readonly Finding[] = [];
  before(async () => {
    findings = await lint(Object.fromEntries([...LANGUAGE, ...AMBIENT].map(({ file, text }) => [file, text])));
  });

  for (const { claim, file, rules } of [...LANGUAGE, ...AMBIENT]) {
    it(`${claim} (${file})`, () => {
      const found = findings.filter((finding) => finding.file === file);
      assert.deepEqual(found.map(({ rule }) => rule).sort(), [...rules].sort());
    });
  }
});
