import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.ts';

export interface CommandOptions {
  readonly cwd?: string;
  /** On top of this process's environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly say?: (text: string) => void;
}

/**
 * A command as a user runs it in a terminal, with all that it starts.
 *
 * Every process that it starts inherits a PATH that only this command has, so what it leaves behind can be found.
 */
export class Command {
  readonly #child: ChildProcess;
  readonly #marker: string;
  readonly #ended: Promise<number>;
  #output = '';

  constructor(command: string, args: readonly string[], { cwd, env = {}, say }: CommandOptions = {}) {
    this.#marker = mkdtempSync(join(tmpdir(), 'command-'));
    const { PATH } = { ...process.env, ...env };
    this.#child = spawn(command, args, {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...process.env, ...env, PATH: `${this.#marker}:${PATH}`, TMPDIR: this.#marker, NO_COLOR: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
      // A group of its own, so that Ctrl-C can be sent to all of it, as a terminal does.
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        this.#output += text;
        say?.(text.trimEnd());
      });
    }
    this.#ended = new Promise((resolve) => {
      this.#child.once('close', (code, signal) => resolve(code ?? (signal === null ? 1 : 128)));
      this.#child.once('error', () => resolve(127));
    });
  }

  get output(): string {
    return this.#output;
  }

  /** The exit status; 128 when a signal ended it. */
  get ended(): Promise<number> {
    return this.#ended;
  }

  /** What a key in the terminal does: signals the whole foreground group, if there is one left. */
  press(signal: 'SIGINT' | 'SIGKILL'): void {
    const { pid, exitCode, signalCode } = this.#child;
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, signal);
  }

  async untilItSays(text: string, withinMs = 120_000): Promise<void> {
    let ended: number | undefined;
    void this.#ended.then((code) => {
      ended = code;
    });
    await until(
      `the command says '${text}'`,
      async () => {
        if (this.#output.includes(text)) return true;
        if (ended !== undefined) throw new Error(`the command ended with ${ended}:\n${this.#output.slice(-2000)}`);
        return false;
      },
      { withinMs, everyMs: 20 },
    );
  }

  /** The process of this command whose command line holds `text`. */
  pidOf(text: string): number {
    const found = this.leftovers().find((line) => line.includes(text));
    const pid = /^process (\d+)/.exec(found ?? '')?.[1];
    if (pid === undefined) throw new Error(`no process of the command runs ${text}`);
    return Number(pid);
  }

  /** Command lines of processes that it started and that still run, and names of files that it left. */
  leftovers(): readonly string[] {
    const processes = readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .flatMap((pid) => this.#ours(pid));
    // npm keeps a cache of its own compiled code where temporary files are.
    const files = readdirSync(this.#marker).filter((file) => file !== 'node-compile-cache');
    return [...processes, ...files.map((file) => `file ${file}`)];
  }

  /** What it has left behind once that stops getting less, at the latest after `withinMs`. */
  async settledLeftovers(withinMs: number): Promise<readonly string[]> {
    const gone = until('nothing is left', async () => this.leftovers().length === 0, { withinMs, everyMs: 50 });
    await gone.catch(() => undefined); // What is left then is the answer.
    return this.leftovers();
  }

  /** Removes the traces of the command itself. */
  forget(): void {
    rmSync(this.#marker, { recursive: true, force: true });
  }

  #ours(pid: string): readonly string[] {
    try {
      if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(this.#marker)) return [];
      const commandLine = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
      // A process that has ended and was not yet waited for has no command line.
      return commandLine === '' ? [] : [`process ${pid} ${commandLine.slice(0, 120)}`];
    } catch {
      return []; // It has just ended.
    }
  }
}
