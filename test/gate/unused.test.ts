import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { makeProject, type Project, ROOT, type Run } from './project.ts';

describe('the gate: nothing is left over', () => {
  let project: Project;
  let result: Run;
  before(async () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    manifest.dependencies = { ...manifest.dependencies, 'left-pad': '1.3.0' };
    project = makeProject({
      'package.json': JSON.stringify(manifest),
      'shared/index.ts': "export { used } from './kube/used.ts';\n",
      'shared/kube/used.ts':
        'export const used = 1;\nexport const unused = 2;\nexport interface OnlyHere {\n  readonly a: 1;\n}\nexport const f = (x: OnlyHere): 1 => x.a;\n',
      'shared/kube/orphan.ts': 'export const nobody = 1;\n',
      'infra/cli/main.ts': "import { f } from '../../shared/kube/used.ts';\n\nf({ a: 1 });\n",
      'infra/forwarder/main.ts': 'export const started = 1;\n',
      'test/unit/a.test.ts': "import { helper } from '../support/helper.ts';\n\nhelper();\n",
      'test/support/helper.ts': 'export const helper = (): void => undefined;\nexport const forgotten = 1;\n',
    });
    result = await project.run('knip', ['--no-progress', '--reporter', 'json']);
  });
  after(() => project.remove());

  it('fails', () => assert.equal(result.code, 1));

  it('names a file that nobody imports', () => {
    assert.deepEqual(
      issues().flatMap(({ file, files }) => (files.length > 0 ? [file] : [])),
      ['shared/kube/orphan.ts'],
    );
  });

  it('names exports that nobody imports, also in the support of tests', () => {
    assert.deepEqual(
      issues().flatMap(({ file, exports }) => exports.map(({ name }) => `${file}: ${name}`)),
      ['shared/kube/used.ts: unused', 'test/support/helper.ts: forgotten'],
    );
  });

  it('names a package that nobody imports', () => {
    const [manifest] = issues().filter(({ file }) => file === 'package.json');
    assert(manifest?.dependencies.some(({ name }) => name === 'left-pad'));
  });

  interface Issue {
    readonly file: string;
    readonly files: readonly unknown[];
    readonly exports: readonly { readonly name: string }[];
    readonly dependencies: readonly { readonly name: string }[];
  }

  function issues(): readonly Issue[] {
    const report = JSON.parse(result.stdout) as { readonly issues: readonly Issue[] };
    return [...report.issues].sort((a, b) => a.file.localeCompare(b.file));
  }
});
