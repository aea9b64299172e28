import { closeSync, openSync, renameSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Part } from '../part.ts';
import { inheritedEnvironment } from './config.ts';
import { eachLine } from './lines.ts';
import { type OwnedProcess, type RunDirectory, signalGroup } from './run-directory.ts';

/** One run of one part: from the start of its process to the end. */
export interface PartProcess {
  readonly pid: number | undefined;
  /** How it ended, as the end of a sentence: `ended with exit code 1`. Resolves after its last lines were logged. */
  readonly ended: Promise<string>;
  /** The last lines of its log. */
  tail(): readonly string[];
  /** Signals the whole group; too late is no error. */
  signal(signal: NodeJS.Signals): void;
}

export interface PartProcessOptions {
  readonly runDirectory: RunDirectory;
  readonly logFile: string;
  /** Gets what the part says on stdout, line by line. */
  readonly onLine: (line: string) => void;
}

const TAIL_LINES = 20;
const MAX_LOG_BYTES = 32 * 1024 * 1024;
/** A descendant outside of the group may hold the pipes open for ever. */
const DRAIN_MS = 500;

export function startPartProcess(part: Part, { runDirectory, logFile, onLine }: PartProcessOptions): PartProcess {
  const log = openLog(logFile);
  const child = runDirectory.spawn(part.command, part.args, { env: { ...inheritedEnvironment(), ...part.env } });
  const tail: string[] = [];
  const record = (line: string): void => {
    log.write(line);
    tail.push(line);
    if (tail.length > TAIL_LINES) tail.shift();
  };

  eachLine(child.stderr, record);
  eachLine(child.stdout, (line) => {
    record(line);
    onLine(line);
  });

  return {
    pid: child.pid,
    ended: endOf(child).finally(() => log.close()),
    tail: () => tail,
    signal: (signal) => {
      // The number of a process that has ended may belong to somebody else by now.
      if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
        signalGroup(child.pid, signal);
      }
    },
  };
}

async function endOf(child: OwnedProcess): Promise<string> {
  const drained = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `ended with exit code ${code}` : `was ended by ${signal}`),
    );
  });
  await Promise.race([drained, sleep(DRAIN_MS, undefined, { ref: false })]);
  return how;
}

interface Log {
  write(line: string): void;
  close(): void;
}

/** Written synchronously: a log that lags behind is missing its end when it is needed. Keeps one older file. */
function openLog(file: string): Log {
  let fd: number | undefined = openSync(file, 'a', 0o600);
  let bytes = 0;
  return {
    write(line) {
      if (fd === undefined) return;
      bytes += writeSync(fd, `${line}\n`);
      if (bytes < MAX_LOG_BYTES) return;
      closeSync(fd);
      renameSync(file, `${file}.1`);
      fd = openSync(file, 'a', 0o600);
      bytes = 0;
    },
    close() {
      if (fd !== undefined) closeSync(fd);
      fd = undefined;
    },
  };
}
