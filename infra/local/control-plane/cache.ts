import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Environment } from '../../../shared/adapters/zod/environment.ts';
import { cacheRoot } from '../cache-root.ts';
import { identityOf, isAlive } from './process-identity.ts';
import type { Release } from './release.ts';

/** Where the binaries of a release are kept. Filled by one rename, so it holds all of them or does not exist. */
export function cachePath(environment: Environment, { kubernetes, etcd }: Release): string {
  const name = `kubernetes-${kubernetes}_etcd-${etcd}_${process.platform}-${process.arch}`;
  return join(cacheRoot(environment), 'control-plane', name);
}

/** Beside the cache, so that the last step is a rename; named after this process, so that others know whose it is. */
export async function newWorkspacePath(cache: string): Promise<string> {
  return `${cache}${WORKSPACE}${await identityOf(process.pid)}`;
}

/** Removes what processes left behind that were cut off, as by a loss of power. Call with the lock held. */
export async function removeAbandonedWorkspaces(cache: string): Promise<void> {
  const prefix = `${basename(cache)}${WORKSPACE}`;
  const names = (await readdir(dirname(cache))).filter((name) => name.startsWith(prefix));
  await Promise.all(
    names.map(async (name) => {
      const owner = name.slice(prefix.length).replace(/\.gone$/, '');
      if (await isAlive(owner)) return;
      await rm(join(dirname(cache), name), { recursive: true, force: true });
    }),
  );
}

const WORKSPACE = '.partial-';
