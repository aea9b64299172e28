import { execFile } from 'node:child_process';
import { readdir, realpath, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { Environment } from '../../../shared/adapters/zod/environment.ts';

export type SdkFile =
  | { readonly kind: 'found'; readonly path: string }
  /** `roots`: the installations that lack it. */
  | { readonly kind: 'absent'; readonly roots: readonly string[] };

const run = promisify(execFile);

/**
 * Finds a file of the Cloud SDK; of several versions (`*` in the last name) the newest.
 *
 * Looks in `CLOUDSDK_ROOT`, beside the `gcloud` of `PATH`, in the usual places, and asks gcloud itself only at last:
 * that starts Python.
 */
export async function findSdkFile(env: Environment, pattern: string): Promise<SdkFile> {
  const roots: string[] = [];
  for (const candidate of candidates(env)) {
    const root = await candidate();
    if (root === undefined || roots.includes(root) || !(await isFolder(root))) continue;
    const path = await newest(root, pattern);
    if (path !== undefined) return { kind: 'found', path };
    roots.push(root);
  }
  return { kind: 'absent', roots };
}

type Candidate = () => Promise<string | undefined>;

function candidates(env: Environment): readonly Candidate[] {
  const { CLOUDSDK_ROOT: chosen } = env;
  // Who names a place wants that one, or to hear that something is missing there.
  if (chosen !== undefined && chosen !== '') return [async () => chosen];
  return [() => besideGcloud(env), ...usualPlaces(env).map((place) => async () => place), () => askGcloud(env)];
}

function usualPlaces({ HOME: home = homedir() }: Environment): readonly string[] {
  return [
    join(home, 'google-cloud-sdk'),
    '/usr/lib/google-cloud-sdk',
    '/usr/share/google-cloud-sdk',
    '/usr/local/google-cloud-sdk',
    '/opt/google-cloud-sdk',
    '/snap/google-cloud-cli/current',
    '/opt/homebrew/share/google-cloud-sdk',
    '/usr/local/share/google-cloud-sdk',
  ];
}

/** `bin/gcloud` stands in the root; what `PATH` has is often a link to it. */
async function besideGcloud({ PATH: path = '' }: Environment): Promise<string | undefined> {
  for (const folder of path.split(delimiter).filter((name) => name !== '')) {
    const real = await unlessMissing(realpath(join(folder, 'gcloud')));
    if (real !== undefined) return dirname(dirname(real));
  }
  return undefined;
}

async function askGcloud({ PATH, HOME }: Environment): Promise<string | undefined> {
  const env = { ...(PATH === undefined ? {} : { PATH }), ...(HOME === undefined ? {} : { HOME }) };
  try {
    const { stdout } = await run('gcloud', ['info', '--format=value(installation.sdk_root)'], { timeout: 20_000, env });
    return stdout.trim() || undefined;
  } catch {
    return undefined; // no gcloud, or one that does not run: then there is no root to learn
  }
}

async function newest(root: string, pattern: string): Promise<string | undefined> {
  const folder = join(root, dirname(pattern));
  const [start = '', end = ''] = basename(pattern).split('*');
  const exact = !pattern.includes('*');
  const names = (await unlessMissing(readdir(folder))) ?? [];
  const matching = names.filter((name) => (exact ? name === start : name.startsWith(start) && name.endsWith(end)));
  const [first] = matching.sort((a, b) => b.localeCompare(a, 'en', { numeric: true }));
  return first === undefined ? undefined : join(folder, first);
}

async function isFolder(path: string): Promise<boolean> {
  return (await unlessMissing(stat(path)))?.isDirectory() ?? false;
}

async function unlessMissing<T>(result: Promise<T>): Promise<T | undefined> {
  try {
    return await result;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return undefined;
    throw error;
  }
}
