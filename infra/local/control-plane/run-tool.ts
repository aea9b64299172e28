import { eachLine } from '../supervisor/lines.ts';
import { type RunDirectory, signalGroup } from '../supervisor/run-directory.ts';

export interface Tool {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** @default the directory of this process */
  readonly cwd?: string;
}

export interface ToolResult {
  /** 127: there is no such command. */
  readonly exitCode: number | null;
  /** The last thing that it said on stderr. */
  readonly lastWords: string;
}

const LAST_LINES = 3;

/** Runs a program to its end, in a workspace that it does not outlive. @throws the signal's reason when it aborts */
export async function runTool(workspace: RunDirectory, tool: Tool, signal: AbortSignal): Promise<ToolResult> {
  signal.throwIfAborted();
  const { command, args, ...options } = tool;
  const child = workspace.spawn(command, args, options);
  const lines: string[] = [];
  child.stdout.resume();
  eachLine(child.stderr, (line) => {
    lines.push(line);
    if (lines.length > LAST_LINES) lines.shift();
  });

  const kill = (): void => signalGroup(Number(child.pid), 'SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  try {
    const exitCode = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    signal.throwIfAborted();
    return { exitCode, lastWords: lines.join('; ') };
  } finally {
    signal.removeEventListener('abort', kill);
  }
}
