import { readlink, rm, symlink } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { identityOf, isAlive } from './process-identity.ts';

export interface LockOptions {
  readonly signal: AbortSignal;
  /** Called once with the pid of the process that has the lock, before waiting for it. */
  readonly onWait: (pid: string) => void;
}

const EVERY_MS = 200;

/**
 * Runs `work` while no other process does; a lock whose owner is dead counts for nothing.
 *
 * The lock is a symbolic link that points to its owner's identity: created with its content in one step. It saves
 * double work and is no more: two that take over the lock of a dead owner in the same instant both go on, so `work`
 * must bear that.
 */
export async function withLock<T>(path: string, { signal, onWait }: LockOptions, work: () => Promise<T>): Promise<T> {
  const me = String(await identityOf(process.pid));
  let told = false;
  while (!(await take(path, me))) {
    const owner = await ownerOf(path);
    if (owner === undefined) continue;
    if (!(await isAlive(owner))) {
      await rm(path, { force: true });
      continue;
    }
    if (!told) onWait(String(Number.parseInt(owner, 10)));
    told = true;
    await sleep(EVERY_MS, undefined, { signal });
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

async function take(path: string, owner: string): Promise<boolean> {
  try {
    await symlink(owner, path);
    return true;
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw thrown;
  }
}

async function ownerOf(path: string): Promise<string | undefined> {
  try {
    return await readlink(path);
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw thrown;
  }
}
