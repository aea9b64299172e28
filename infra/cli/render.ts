import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command } from 'commander';
import { stringify } from 'yaml';
import { controllers } from '../../functions/controllers/index.ts';
import { fenceObjects } from '../../shared/reconcile/fence-objects.ts';
import { crdFiles, type Difference, differences, type Files } from './crd-files.ts';

interface CrdsOptions {
  readonly out: string;
  readonly check?: true;
}

/** `driftless render`: writes what is derived from the declared kinds. */
export function renderCommand(): Command {
  const render = new Command('render').description('Write what is derived from the operators.');
  render
    .command('crds')
    .description('Write one CustomResourceDefinition for each kind of functions/controllers.')
    .option('--out <folder>', 'where the files go', 'crds')
    .option('--check', 'write nothing, and fail when the files are not up to date')
    .action(async (options: CrdsOptions) => {
      const expected = crdFiles(controllers);
      const found = differences(expected, await readFiles(options.out));
      if (options.check === true) report(options.out, found);
      else await repair(options.out, expected, found);
    });
  render
    .command('fence')
    .description('Write what strict mode needs in a cluster to standard output: policy, fence and permissions.')
    .addHelpText('after', '\nExample:\n  npx driftless render fence | kubectl apply --server-side -f -\n')
    .action(() => {
      const documents = fenceObjects(controllers).map(({ object }) =>
        stringify(object, { aliasDuplicateObjects: false }),
      );
      process.stdout.write(documents.join('---\n'));
    });
  return render;
}

function report(folder: string, found: readonly Difference[]): void {
  if (found.length === 0) return;
  const list = found.map(({ file, is }) => `  ${is.padEnd(7)} ${join(folder, file)}`).join('\n');
  console.error(
    `The CRDs are not what the kinds say:\n${list}\nRun: node infra/cli/main.ts render crds --out ${folder}`,
  );
  process.exitCode = 1;
}

async function repair(folder: string, expected: Files, found: readonly Difference[]): Promise<void> {
  await mkdir(folder, { recursive: true });
  for (const { file, is } of found) {
    const path = join(folder, file);
    const text = expected.get(file);
    if (text === undefined) await rm(path);
    else await writeFile(path, text);
    console.log(`${is === 'extra' ? 'removed' : 'wrote'} ${path}`);
  }
  if (found.length === 0) console.log(`${join(folder, '*')} is up to date`);
}

async function readFiles(folder: string): Promise<Files> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.yaml'));
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name), 'utf8')] as const)),
  );
}

async function namesIn(folder: string): Promise<readonly string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    // A folder that is not there yet holds nothing.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}
