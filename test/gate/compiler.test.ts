import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeProject, type Project } from './project.ts';

/** What the compiler refuses, by error code. */
const CASES = [
  { claim: 'syntax that Node cannot strip', text: 'export enum X {\n  A,\n}\n', code: 'TS1294' },
  {
    claim: 'an element that may not be there',
    text: 'export const f = (list: readonly string[]): string => list[0];\n',
    code: 'TS2322',
  },
  {
    claim: 'undefined for a field that may only be left out',
    text: 'export const x: { readonly a?: string } = { a: undefined };\n',
    code: 'TS2375',
  },
  {
    claim: 'a path of a function that returns nothing',
    text: 'export function f(x: boolean): number | undefined {\n  if (x) return 1;\n}\n',
    code: 'TS7030',
  },
  {
    claim: 'a case that falls through',
    text: 'export function f(x: number): number {\n  let y = 0;\n  switch (x) {\n    case 1:\n      y = 1;\n    case 2:\n      y = 2;\n  }\n  return y;\n}\n',
    code: 'TS7029',
  },
  {
    claim: 'a dot where any name would do',
    text: 'export const f = (map: Readonly<Record<string, string>>): unknown => map.name;\n',
    code: 'TS4111',
  },
  {
    claim: 'a type that is imported as a value',
    text: "import { Stats } from 'node:fs';\nimport { PathLike } from 'node:fs';\n\nexport type X = Stats | PathLike;\n",
    code: 'TS1484',
  },
  { claim: 'an implicit any', text: 'export const f = (x) => x;\n', code: 'TS7006' },
] as const;

describe('the gate: types', () => {
  let project: Project;
  let output = '';
  before(async () => {
    project = makeProject({
      ...Object.fromEntries(CASES.map(({ code, text }) => [`shared/${code}.ts`, text])),
      'shared/clean.ts': 'export const x: number = 1;\n',
    });
    ({ stdout: output } = await project.run('tsc', ['-p', '.', '--pretty', 'false']));
  });
  after(() => project.remove());

  for (const { claim, code } of CASES) {
    it(`refuses ${claim}`, () => {
      const found = output.split('\n').filter((line) => line.startsWith(`shared/${code}.ts(`));
      assert.deepEqual(
        found.map((line) => /error (TS\d+)/.exec(line)?.[1]),
        [code],
      );
    });
  }

  it('accepts clean code', () => assert.doesNotMatch(output, /clean\.ts/));
});
