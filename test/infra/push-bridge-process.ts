import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

export interface Ended {
  readonly status: number | null;
  readonly stderr: string;
}

/** A `main.ts` of the local stack, started as users start it. */
export interface StartedProcess {
  /** The JSON lines so far. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** Resolves with the first line that has this message. @throws if the process ends without it */
  line(message: string): Promise<Readonly<Record<string, unknown>>>;
  ended: Promise<Ended>;
  kill(signal: NodeJS.Signals): void;
}

export function startProcess(main: string, env: Readonly<Record<string, string>>): StartedProcess {
  const path = fileURLToPath(new URL(`../../infra/local/${main}/main.ts`, import.meta.url));
  const { PATH = '' } = process.env;
  const child = spawn(process.execPath, [path], {
    env: { PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: Record<string, unknown>[] = [];
  const arrivals = new EventTarget();
  void collect(child, (line) => {
    lines.push(line);
    arrivals.dispatchEvent(new Event('line'));
  });
  const ended = end(child);
  return {
    lines,
    ended,
    async line(message) {
      for (;;) {
        const found = lines.find(({ message: logged }) => logged === message);
        if (found !== undefined) return found;
        const over = ended.then(({ status, stderr }) => {
          throw new Error(`${main} ended with ${status} before '${message}': ${stderr}${JSON.stringify(lines)}`);
        });
        await Promise.race([once(arrivals, 'line'), over]);
      }
    },
    kill: (signal) => child.kill(signal),
  };
}

async function collect(child: ChildProcess, onLine: (line: Record<string, unknown>) => void): Promise<void> {
  let rest = '';
  for await (const chunk of child.stdout ?? []) {
    const parts = (rest + String(chunk)).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) onLine(JSON.parse(part));
  }
}

async function end(child: ChildProcess): Promise<Ended> {
  const [stderr] = await Promise.all([child.stderr === null ? '' : text(child.stderr), once(child, 'close')]);
  return { status: child.exitCode, stderr };
}
