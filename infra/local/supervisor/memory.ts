import { execFile } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** Resident memory of every process group on this machine, in MiB, by the pid of its leader. */
export async function memoryOfGroups(): Promise<ReadonlyMap<number, number>> {
  const kibibytes = new Map<number, number>();
  for (const { group, rssKiB } of process.platform === 'linux' ? await fromProc() : await fromPs()) {
    kibibytes.set(group, (kibibytes.get(group) ?? 0) + rssKiB);
  }
  return new Map([...kibibytes].map(([group, kiB]) => [group, Math.round(kiB / 1024)]));
}

interface Resident {
  readonly group: number;
  readonly rssKiB: number;
}

async function fromProc(): Promise<readonly Resident[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const found = await Promise.all(pids.map(residentOf));
  return found.filter((resident) => resident !== undefined);
}

async function residentOf(pid: string): Promise<Resident | undefined> {
  try {
    const [stat, status] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile(`/proc/${pid}/status`, 'utf8'),
    ]);
    // Behind the command name, which may contain anything: state, parent, group (proc(5), fields 3 to 5).
    const group = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[2]);
    const rssKiB = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0);
    return { group, rssKiB };
  } catch {
    // It has ended since the directory was read.
    return undefined;
  }
}

async function fromPs(): Promise<readonly Resident[]> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pgid=,rss=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .map(([group = 0, rssKiB = 0]) => ({ group, rssKiB }));
}
