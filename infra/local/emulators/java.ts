import { execFile } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../../../shared/adapters/zod/environment.ts';

export type Java =
  | { readonly kind: 'found'; readonly path: string; readonly version: number }
  | { readonly kind: 'absent'; readonly reason: string };

/** What the emulators of the Cloud SDK need. */
const MINIMUM_VERSION = 17;

const run = promisify(execFile);

/** The first Java of `JAVA_HOME` and `PATH` that is recent enough. */
export async function findJava(env: Environment): Promise<Java> {
  const tooOld: string[] = [];
  for (const path of candidates(env)) {
    const version = await versionOf(path);
    if (version === undefined) continue;
    if (version >= MINIMUM_VERSION) return { kind: 'found', path, version };
    tooOld.push(`${path} is version ${version}`);
  }
  const seen = tooOld.length === 0 ? 'there is none in JAVA_HOME or PATH' : tooOld.join(', ');
  return { kind: 'absent', reason: `Java ${MINIMUM_VERSION} or newer: ${seen}` };
}

/** The major version in what `java -version` prints: 17 for `openjdk version "17.0.15"`, 8 for `"1.8.0_402"`. */
export function javaVersion(printed: string): number | undefined {
  const [, first, second] = /version "(\d+)(?:\.(\d+))?/.exec(printed) ?? [];
  if (first === undefined) return undefined;
  return Number(first === '1' && second !== undefined ? second : first);
}

function candidates(env: Environment): readonly string[] {
  const { JAVA_HOME: home = '', PATH: path = '' } = env;
  const folders = path.split(delimiter).filter((folder) => folder !== '');
  return [...(home === '' ? [] : [join(home, 'bin')]), ...folders].map((folder) => join(folder, 'java'));
}

async function versionOf(java: string): Promise<number | undefined> {
  try {
    const { stdout, stderr } = await run(java, ['-version'], { timeout: 10_000 });
    return javaVersion(stderr + stdout);
  } catch {
    return undefined; // no such file, or nothing that runs: the next candidate may
  }
}
