import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { controllers } from '../../functions/controllers/index.ts';
import { crdFiles } from '../../infra/cli/crd-files.ts';
import { ROOT, type Run, run } from './project.ts';

const FILE = 'webapps.apps.driftless.dev.yaml';

describe('R30: generated CRDs are up to date', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'driftless-crds-'));
    for (const [file, text] of crdFiles(controllers)) writeFileSync(join(folder, file), text);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('in this repository', async () => {
    assert.deepEqual(await renderCrds('--out', join(ROOT, 'crds'), '--check'), { code: 0, stdout: '', stderr: '' });
  });

  it('right after they were written, also into a folder that was not there', async () => {
    rmSync(folder, { recursive: true });
    assert.equal((await renderCrds('--out', folder)).code, 0);
    assert.deepEqual(readdirSync(folder), [FILE]);
    assert.deepEqual(await renderCrds('--out', folder, '--check'), { code: 0, stdout: '', stderr: '' });
  });

  it('not when one was edited by hand, which the check names together with the remedy', async () => {
    appendFileSync(join(folder, FILE), '# edited\n');
    const { code, stderr } = await renderCrds('--out', folder, '--check');
    assert.equal(code, 1);
    assert.equal(
      stderr,
      `The CRDs are not what the kinds say:\n  stale   ${join(folder, FILE)}\nRun: node infra/cli/main.ts render crds --out ${folder}\n`,
    );
  });

  it('not when one is missing', async () => {
    rmSync(join(folder, FILE));
    const { code, stderr } = await renderCrds('--out', folder, '--check');
    assert.equal(code, 1);
    assert.match(stderr, / {2}missing \S+webapps\.apps\.driftless\.dev\.yaml\n/);
  });

  it('not when the kind of one is gone, and writing removes that file', async () => {
    writeFileSync(join(folder, 'gone.example.com.yaml'), readFileSync(join(folder, FILE)));
    const { code, stderr } = await renderCrds('--out', folder, '--check');
    assert.equal(code, 1);
    assert.match(stderr, / {2}extra {3}\S+gone\.example\.com\.yaml\n/);
    assert.equal((await renderCrds('--out', folder)).code, 0);
    assert.deepEqual(readdirSync(folder), [FILE]);
  });

  it('and files of somebody else in the folder are left alone', async () => {
    writeFileSync(join(folder, 'mine.yaml'), 'kind: ConfigMap\n');
    assert.equal((await renderCrds('--out', folder, '--check')).code, 0);
    assert.equal((await renderCrds('--out', folder)).code, 0);
    assert.deepEqual(readdirSync(folder), ['mine.yaml', FILE]);
  });
});

/** The command as a process of its own, because its verdict is an exit code. */
function renderCrds(...args: readonly string[]): Promise<Run> {
  const script =
    "import('./infra/cli/render.ts').then((m) => m.renderCommand().parseAsync(process.argv, { from: 'node' }))";
  return run(process.execPath, ['-e', script, 'render', 'crds', ...args], ROOT);
}
