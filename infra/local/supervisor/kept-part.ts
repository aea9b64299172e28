import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../shared/errors.ts';
import type { Part } from '../part.ts';
import { PartFailedError } from './part-failed-error.ts';
import type { PartProcess } from './part-process.ts';

/** What happens to a part, for the terminal and the dashboard. */
export type PartEvent =
  | { readonly kind: 'starting'; readonly part: string; readonly usuallyMs: number }
  | { readonly kind: 'ready'; readonly part: string; readonly afterMs: number }
  /** It ended by itself, or could not be started again. `how` ends the sentence that `part` begins. */
  | { readonly kind: 'restarting'; readonly part: string; readonly how: string; readonly inMs: number }
  | { readonly kind: 'failed'; readonly part: string; readonly how: string };

export interface KeeperOptions {
  readonly startProcess: (part: Part) => PartProcess;
  readonly readyWithinMs: number;
  readonly onEvent: (event: PartEvent) => void;
  /** A part that the stack cannot do without has ended by itself. */
  readonly onFailed: (error: PartFailedError) => void;
}

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;

/**
 * Keeps one part running.
 *
 * Each start has an `AbortController`; once it is aborted, whatever ends does so on purpose, and nobody restarts it.
 */
export class KeptPart {
  readonly part: Part;
  readonly #options: KeeperOptions;
  #process: PartProcess | undefined;
  #keeping = new AbortController();

  constructor(part: Part, options: KeeperOptions) {
    this.part = part;
    this.#options = options;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** The last lines of its log. */
  tail(): readonly string[] {
    return this.#process?.tail() ?? [];
  }

  /** @throws {PartFailedError} if it ends, or is not ready in time; the process is gone then. */
  async start(): Promise<void> {
    const keeping = new AbortController();
    this.#keeping = keeping;
    await this.#launch(keeping.signal);
    void this.#keep(keeping.signal);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.signal(signal);
  }

  /** Ends the process on purpose: `signal`, and SIGKILL if that did not help within `graceMs`. */
  async end(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    this.#keeping.abort(new DOMException(`${this.part.name} is being stopped`, 'AbortError'));
    const running = this.#process;
    if (running === undefined) return;
    running.signal(signal);
    const cancel = new AbortController();
    await Promise.race([running.ended, sleep(graceMs, undefined, { signal: cancel.signal }).catch(ignoreAbort)]);
    cancel.abort();
    running.signal('SIGKILL');
    await running.ended;
  }

  async #launch(signal: AbortSignal): Promise<void> {
    const { part } = this;
    const { startProcess, onEvent, readyWithinMs } = this.#options;
    const startedAt = performance.now();
    onEvent({ kind: 'starting', part: part.name, usuallyMs: part.usuallyMs });

    const running = startProcess(part);
    this.#process = running;
    try {
      await untilReady(part, running, readyWithinMs, signal);
    } catch (thrown) {
      running.signal('SIGKILL');
      await running.ended;
      throw thrown;
    }
    onEvent({ kind: 'ready', part: part.name, afterMs: Math.round(performance.now() - startedAt) });
  }

  async #keep(signal: AbortSignal): Promise<void> {
    const { name, whenItEnds } = this.part;
    const { onEvent, onFailed } = this.#options;
    let delayMs = FIRST_DELAY_MS;
    let launchedAt = performance.now();
    for (;;) {
      const how = (await this.#process?.ended) ?? 'never started';
      if (signal.aborted) return;
      if (whenItEnds === 'fail') {
        onEvent({ kind: 'failed', part: name, how });
        onFailed(new PartFailedError(name, how, this.#process?.tail() ?? []));
        return;
      }

      // One that has served for a while starts over; one that dies again and again is given time.
      if (performance.now() - launchedAt > MAX_DELAY_MS) delayMs = FIRST_DELAY_MS;
      onEvent({ kind: 'restarting', part: name, how, inMs: delayMs });
      await sleep(delayMs, undefined, { signal }).catch(ignoreAbort);
      if (signal.aborted) return;
      delayMs = Math.min(2 * delayMs, MAX_DELAY_MS);
      launchedAt = performance.now();
      // A failed start has ended the process, so the next round reports and retries it.
      await this.#launch(signal).catch(ignoreFailedStart);
    }
  }
}

/** Resolves when the part serves; its probe is aborted as soon as the outcome is known. */
async function untilReady(part: Part, running: PartProcess, withinMs: number, signal: AbortSignal): Promise<void> {
  const probing = new AbortController();
  const late = AbortSignal.timeout(withinMs);
  const failed = (how: string, cause?: unknown): PartFailedError =>
    new PartFailedError(part.name, how, running.tail(), { cause });
  try {
    await Promise.race([
      part.ready(probing.signal).catch((thrown: unknown) => {
        throw failed(`could not be probed: ${messageOf(thrown)}`, thrown);
      }),
      running.ended.then((how) => {
        throw failed(how);
      }),
      aborted(late).then(() => {
        throw failed(`was not ready within ${withinMs / 1_000} s`);
      }),
      aborted(signal).then(() => {
        throw signal.reason;
      }),
    ]);
  } finally {
    probing.abort();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
}

function ignoreAbort(thrown: unknown): void {
  if ((thrown as Error).name !== 'AbortError') throw thrown;
}

function ignoreFailedStart(thrown: unknown): void {
  if (!(thrown instanceof PartFailedError)) ignoreAbort(thrown);
}
