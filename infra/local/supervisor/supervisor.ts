import { randomBytes } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Part } from '../part.ts';
import { KeptPart, type PartEvent } from './kept-part.ts';
import { memoryOfGroups } from './memory.ts';
import type { PartFailedError } from './part-failed-error.ts';
import { type PartProcess, startPartProcess } from './part-process.ts';
import { createRunDirectory, type RunDirectory } from './run-directory.ts';

export interface SupervisorOptions {
  /** Must not exist yet; removed at the end. @default a new one named `driftless-…` where the system keeps such things */
  readonly directory?: string;
  /** How long all parts together may take to end before they are killed, in milliseconds. @default 3000 */
  readonly graceMs?: number;
  /** How long a part may take to be ready, in milliseconds. @default 60000 */
  readonly readyWithinMs?: number;
  readonly onEvent?: (event: PartEvent) => void;
}

export type LineListener = (part: string, line: string) => void;

/**
 * Owns the processes of the local stack.
 *
 * Guarantees: a part runs from `start` to `stop`, in its own process group, with nothing of our environment but PATH
 * and HOME; when this process is gone, however it ended, so are all parts and the directory (see `RunDirectory`).
 * Logs (stdout and stderr) are in `directory/logs/NAME.log`.
 */
export class Supervisor {
  /** For whatever must not outlive the stack: sockets, data, credentials, logs. Mode 0700. */
  readonly directory: string;
  /** Resolves when a part that the stack cannot do without ends by itself. Never rejects. */
  readonly failed: Promise<PartFailedError>;

  readonly #options: Required<Pick<SupervisorOptions, 'graceMs' | 'readyWithinMs' | 'onEvent'>>;
  readonly #runDirectory: RunDirectory;
  readonly #parts = new Map<string, KeptPart>();
  readonly #listeners = new Set<LineListener>();
  readonly #fail: (error: PartFailedError) => void;
  #stopping: Promise<void> | undefined;

  constructor(options: SupervisorOptions = {}) {
    const { promise, resolve } = Promise.withResolvers<PartFailedError>();
    this.failed = promise;
    this.#fail = resolve;
    this.#options = {
      graceMs: options.graceMs ?? 3_000,
      readyWithinMs: options.readyWithinMs ?? 60_000,
      onEvent: options.onEvent ?? (() => undefined),
    };
    this.directory = options.directory ?? join(tmpdir(), `driftless-${randomBytes(6).toString('hex')}`);
    this.#runDirectory = createRunDirectory(this.directory);
    mkdirSync(join(this.directory, 'logs'));
  }

  /**
   * Starts a part and resolves when it is ready.
   *
   * @throws {PartFailedError} if it is not: which part, how it ended, and what it said last.
   * @throws an `AbortError` if the supervisor is stopped meanwhile.
   */
  async start(part: Part): Promise<void> {
    if (this.#stopping !== undefined) throw new DOMException('the supervisor has been stopped', 'AbortError');
    if (this.#parts.has(part.name)) throw new RangeError(`there is a part named ${part.name} already`);
    const kept = new KeptPart(part, {
      startProcess: (p) => this.#startProcess(p),
      readyWithinMs: this.#options.readyWithinMs,
      onEvent: this.#options.onEvent,
      onFailed: this.#fail,
    });
    this.#parts.set(part.name, kept);
    try {
      await kept.start();
    } catch (thrown) {
      this.#parts.delete(part.name);
      throw thrown;
    }
  }

  /** Ends a part with `signal` and starts it again; resolves when it is ready. @throws {PartFailedError} */
  async restart(name: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const kept = this.#named(name);
    await kept.end(signal, this.#options.graceMs);
    if (this.#stopping !== undefined) throw new DOMException('the supervisor has been stopped', 'AbortError');
    await kept.start();
  }

  /** Signals a part without meaning to: if it ends, it has ended by itself, and its `whenItEnds` applies. */
  kill(name: string, signal: NodeJS.Signals): void {
    this.#named(name).signal(signal);
  }

  /** Calls `listener` with every line that a part says on stdout. @returns how to stop that */
  onLine(listener: LineListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** The last lines that a part said. */
  tail(name: string): readonly string[] {
    return this.#named(name).tail();
  }

  /** Resident memory of each part with its descendants, in MiB. */
  async memory(): Promise<Readonly<Record<string, number>>> {
    const memory = await memoryOfGroups();
    return Object.fromEntries(
      [...this.#parts.values()].map((kept) => [kept.part.name, memory.get(kept.pid ?? 0) ?? 0]),
    );
  }

  /** Ends all parts, the last one first, within the grace period; then kills what is left. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  /** For the second Ctrl-C: kills all parts at once. */
  stopNow(): Promise<void> {
    const stopped = this.#kill();
    this.#stopping ??= stopped;
    return stopped;
  }

  async #stop(): Promise<void> {
    const deadline = performance.now() + this.#options.graceMs;
    for (const kept of [...this.#parts.values()].reverse()) {
      await kept.end('SIGTERM', Math.max(0, deadline - performance.now()));
    }
    await this.#runDirectory.remove();
  }

  async #kill(): Promise<void> {
    await Promise.all([...this.#parts.values()].map((kept) => kept.end('SIGKILL', 0)));
    await this.#runDirectory.remove();
  }

  #startProcess(part: Part): PartProcess {
    return startPartProcess(part, {
      runDirectory: this.#runDirectory,
      logFile: join(this.directory, 'logs', `${part.name}.log`),
      onLine: (line) => {
        for (const listener of this.#listeners) listener(part.name, line);
      },
    });
  }

  #named(name: string): KeptPart {
    const kept = this.#parts.get(name);
    if (kept === undefined) throw new RangeError(`there is no part named ${name}`);
    return kept;
  }
}
