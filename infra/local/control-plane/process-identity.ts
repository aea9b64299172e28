import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * Names a process so that no later one has the same name: `PID-START`, fit for a file name. Undefined when it does
 * not run.
 */
export async function identityOf(pid: number): Promise<string | undefined> {
  const start = process.platform === 'linux' ? await startFromProc(pid) : await startFromPs(pid);
  return start === undefined ? undefined : `${pid}-${start}`;
}

/** Whether the process with this identity still runs. */
export async function isAlive(identity: string): Promise<boolean> {
  return (await identityOf(Number.parseInt(identity, 10))) === identity;
}

async function startFromProc(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The start time is the 20th word behind the command name (proc(5), field 22).
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
  } catch {
    return undefined;
  }
}

async function startFromPs(pid: number): Promise<string | undefined> {
  try {
    const { stdout } = await promisify(execFile)('ps', ['-o', 'lstart=', '-p', String(pid)]);
    return stdout.trim().replaceAll(/\W+/g, '_');
  } catch {
    return undefined;
  }
}
