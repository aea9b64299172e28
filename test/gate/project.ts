import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** The root of this repository. */
export const ROOT = join(import.meta.dirname, '../..');

/** A folder with the repository's own configuration and packages, and files of the test's making. */
export interface Project {
  readonly path: string;
  /** Runs a tool of the repository's in the folder. */
  run(tool: 'biome' | 'knip' | 'tsc', args: readonly string[]): Promise<Run>;
  remove(): void;
}

export interface Run {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const CONFIGURATION = ['package.json', 'tsconfig.json', 'biome.json', '.biome'];

/** @param files texts by path; a configuration file that is named here is replaced */
export function makeProject(files: Readonly<Record<string, string>>): Project {
  const path = mkdtempSync(join(tmpdir(), 'driftless-gate-'));
  for (const name of CONFIGURATION) cpSync(join(ROOT, name), join(path, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(path, 'node_modules'));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(path, name)), { recursive: true });
    writeFileSync(join(path, name), text);
  }
  return {
    path,
    run: (tool, args) => run(join(ROOT, 'node_modules/.bin', tool), args, path),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** Runs to the end; a failure is a code, not an error. */
export function run(command: string, args: readonly string[], cwd: string): Promise<Run> {
  return new Promise((resolve) => {
    const options = { cwd, timeout: 60_000, maxBuffer: 64 * 2 ** 20 };
    execFile(command, args, options, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), stdout, stderr });
    });
  });
}
