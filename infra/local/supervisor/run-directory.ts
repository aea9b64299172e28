import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inheritedEnvironment } from './config.ts';

/**
 * A directory, and processes, that do not outlive this process, however it ends.
 *
 * Guarantees: when this process is gone (also by `kill -9`), every process group started by `spawn` is killed and the
 * directory is removed, within milliseconds. A small `sh` process sees to it: it waits for the end of a pipe that only
 * this process holds.
 * Does not guarantee: anything about a descendant that moves to a process group of its own.
 */
export interface RunDirectory {
  readonly path: string;
  /**
   * Starts a process as the leader of its own group, so that a terminal's Ctrl-C does not reach it. What is left of
   * the group when the leader ends is killed.
   */
  spawn(command: string, args: readonly string[], options: SpawnOptions): OwnedProcess;
  /** Kills what is left, at once, and removes the directory. Idempotent; works even if the reaper was killed. */
  remove(): Promise<void>;
}

interface SpawnOptions {
  /** The whole environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** @default the directory of this process */
  readonly cwd?: string;
}

export type OwnedProcess = ChildProcess & {
  readonly stdout: NonNullable<ChildProcess['stdout']>;
  readonly stderr: NonNullable<ChildProcess['stderr']>;
};

/** @param path absolute; must not exist. Created with mode 0700. */
export function createRunDirectory(path: string): RunDirectory {
  // Before the directory: if this process is killed between the two lines, there is nothing to remove.
  let reaper = startReaper(path);
  mkdirSync(path, { mode: 0o700 });
  mkdirSync(join(path, 'processes'));

  const alive = new Set<Promise<void>>();

  return {
    path,
    spawn(command, args, options) {
      const child = spawn(SHELL, [SCRIPT, 'run', path, command, ...args], {
        detached: true,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: options.env,
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      });
      const ended = exited(child).then(() => {
        alive.delete(ended);
        if (child.pid === undefined) return;
        signalGroup(child.pid, 'SIGKILL');
        rmSync(join(path, 'processes', String(child.pid)), { force: true });
      });
      alive.add(ended);
      return child;
    },
    async remove() {
      await reap(reaper);
      // Somebody may have killed the reaper; a new one does all its work at once, because its stdin ends.
      if (reaper.signalCode !== null) {
        reaper = startReaper(path);
        await reap(reaper);
      }
      await Promise.all(alive);
    },
  };
}

/** Sends a signal to every process of a group. A group that has no members any more is no error. */
export function signalGroup(leaderPid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leaderPid, signal);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    // macOS says EPERM where only a zombie is left.
    if (code !== 'ESRCH' && code !== 'EPERM') throw thrown;
  }
}

// Absolute: a process may be given a PATH on which there is no shell.
const SHELL = '/bin/sh';
const SCRIPT = fileURLToPath(new URL('run-directory.sh', import.meta.url));

function startReaper(path: string): ChildProcess {
  const reaper = spawn(SHELL, [SCRIPT, 'reap', path], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
    env: inheritedEnvironment(),
  });
  // It must not keep this process running; the pipe's end at exit is its cue.
  reaper.unref();
  return reaper;
}

/** Gives the reaper its cue, and waits until it is done. */
async function reap(reaper: ChildProcess): Promise<void> {
  const done = exited(reaper);
  reaper.ref();
  reaper.stdin?.end();
  await done;
}

/** Resolves when the process has ended, or could not be started. */
function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.once('error', () => resolve());
  });
}
