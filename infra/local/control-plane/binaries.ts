import { mkdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../../../shared/errors.ts';
import { createRunDirectory } from '../supervisor/run-directory.ts';
import { build } from './build.ts';
import { cachePath, newWorkspacePath, removeAbandonedWorkspaces } from './cache.ts';
import { ControlPlaneUnavailableError, type Miss } from './control-plane-unavailable-error.ts';
import { download } from './download.ts';
import { type Binaries, binariesIn, type FindOptions, findBinaries, missingIn } from './find-binaries.ts';
import { withLock } from './lock.ts';
import { PINNED } from './release.ts';
import type { Way, WayOptions } from './way.ts';

export interface ResolveOptions extends FindOptions {
  /** Told what takes long, every few seconds. */
  readonly onProgress: (text: string) => void;
  /** Ends downloads and builds; nothing half-made stays. */
  readonly signal: AbortSignal;
}

const WAYS: Readonly<Record<string, Way>> = { download, build };

/**
 * Finds the binaries of the control plane, or gets them: `KUBEBUILDER_ASSETS`, the cache, a download of the pinned
 * releases, a build from pinned Go modules, in this order.
 *
 * Guarantees: what was downloaded is used only if its digest is the pinned one; the cache holds all or nothing; of
 * several processes that find it empty, one does the work and the others wait.
 *
 * @throws {ControlPlaneUnavailableError} with the reason why each way failed.
 */
export async function resolveBinaries(options: ResolveOptions): Promise<Binaries> {
  const { environment, onProgress, signal, release = PINNED } = options;
  const search = await findBinaries(options);
  for (const { way, reason } of search.misses) {
    // Whoever set it expects it to be used.
    if (way === 'KUBEBUILDER_ASSETS' && environment[way]) onProgress(`${way}: ${reason}`);
  }
  if (search.binaries !== undefined) return search.binaries;

  const cache = cachePath(environment, release);
  try {
    await mkdir(dirname(cache), { recursive: true });
  } catch (thrown) {
    const unwritable = { way: 'cache', reason: `cannot be written: ${messageOf(thrown)}` };
    throw new ControlPlaneUnavailableError([...search.misses, unwritable]);
  }
  const onWait = (pid: string) => onProgress(`waiting for process ${pid}, which is getting the control plane`);
  return withLock(`${cache}.lock`, { signal, onWait }, async () => {
    // Whoever held the lock before has filled it, or has failed.
    if ((await missingIn(cache)).length === 0) return binariesIn(cache);
    await removeAbandonedWorkspaces(cache);
    return fill(cache, { environment, onProgress, signal, release }, search.misses);
  });
}

async function fill(cache: string, options: Omit<WayOptions, 'workspace'>, before: readonly Miss[]): Promise<Binaries> {
  const misses = [...before];
  for (const [way, get] of Object.entries(WAYS)) {
    const workspace = createRunDirectory(await newWorkspacePath(cache));
    const made = join(workspace.path, 'bin');
    try {
      await mkdir(made);
      const problem = await get({ ...options, workspace, directory: made });
      if (problem === undefined) {
        // What is there is incomplete, perhaps because something tidied up.
        await rm(cache, { recursive: true, force: true });
        await rename(made, cache);
        return binariesIn(cache);
      }
      misses.push({ way, reason: problem });
      options.onProgress(`${way}: ${problem}`);
    } finally {
      await workspace.remove();
    }
  }
  throw new ControlPlaneUnavailableError(misses);
}
