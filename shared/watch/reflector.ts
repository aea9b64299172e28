import { messageOf, OperatorError } from '../errors.ts';
import { ApiError } from '../kube/api-error.ts';
import { formatGroupKind, type Kind } from '../kube/kind.ts';
import { WatchExpiredError } from '../kube/watch-error.ts';
import type { WatchEvent } from '../kube/watch-event.ts';
import type { Clock } from '../ports/clock.ts';
import type { Logger } from '../ports/logger.ts';
import type { MetadataSource, WatchStart } from '../ports/metadata-source.ts';
import type { Random } from '../ports/random.ts';
import { type Change, type Entry, entryOf, type Inventory } from './inventory.ts';
import { INITIAL, next, type ReflectorInput, type ReflectorState, resuming } from './reflector-state.ts';

/** What a reflector tells. Each method returns before the next event is read. */
export interface ReflectorSink {
  /** A complete list was taken in. `first`: nothing was known before, so `changes` proves nothing about what is old. */
  listed(changes: readonly Change[], first: boolean): void;
  /** `after`: the resourceVersion from which the change would be heard again. */
  changed(change: Change, after: string): void;
  /** It is watched on from where somebody else had got to, without a list. */
  resumed(): void;
  /** The kind cannot be listed or watched for now. */
  failed(): void;
}

export interface ReflectorOptions {
  readonly kind: Kind;
  /** Filled and kept up to date by the reflector. */
  readonly inventory: Inventory;
  readonly sink: ReflectorSink;
  /** Where to watch on from. @default it is listed first */
  readonly resumeFrom?: string | undefined;
  readonly source: MetadataSource;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

/** How one kind's watch is doing. */
export interface Liveness {
  readonly phase: ReflectorState['phase'];
  /** Milliseconds since the API server last said anything about this kind, a bookmark included. */
  readonly idleMs: number;
  readonly attempt: number;
  readonly lists: number;
  readonly events: number;
  /** Why it last failed; undefined once it works again. */
  readonly lastError: string | undefined;
}

/** Lists and watches one kind, for ever: performs what the table in `reflector-state.ts` says. One stream at a time. */
export class Reflector {
  readonly #options: ReflectorOptions;
  #state: ReflectorState;
  #interrupt: () => void = () => undefined;
  #heardAtMs: number;
  #lists = 0;
  #events = 0;
  #lastError: string | undefined;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#state = options.resumeFrom === undefined ? INITIAL : resuming(options.resumeFrom);
    this.#heardAtMs = options.clock.monotonic();
  }

  /** Resolves after `signal` has aborted, and never before or otherwise. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const interrupted = new AbortController();
      this.#interrupt = () => interrupted.abort();
      const step = AbortSignal.any([signal, interrupted.signal]);
      try {
        await this.#step(step);
      } catch (error) {
        if (!step.aborted) this.#recover(error);
      }
    }
  }

  /** Lists the kind at once, whatever it is doing, unless it is being listed. */
  list(): void {
    if (this.#state.phase === 'listing') return;
    this.#advance({ kind: 'asked' });
    this.#interrupt();
  }

  /** What was heard last, or where it will resume; undefined when it has to be listed. */
  get resourceVersion(): string | undefined {
    const state = this.#state;
    if (state.phase === 'listing') return undefined;
    return state.phase === 'watching' ? state.resourceVersion : state.resumeFrom;
  }

  liveness(): Liveness {
    return {
      phase: this.#state.phase,
      idleMs: this.#options.clock.monotonic() - this.#heardAtMs,
      attempt: this.#state.attempt,
      lists: this.#lists,
      events: this.#events,
      lastError: this.#lastError,
    };
  }

  async #step(signal: AbortSignal): Promise<void> {
    switch (this.#state.phase) {
      case 'listing':
        return await (this.#state.listBy === 'stream' ? this.#follow({ from: 'list' }, signal) : this.#list(signal));
      case 'watching':
        return await this.#follow({ from: 'version', resourceVersion: this.#state.resourceVersion }, signal);
      case 'checking':
        return await this.#check(signal);
      case 'backingOff':
        await this.#options.clock.sleep(this.#state.delayMs, signal);
        return this.#advance({ kind: 'waited' });
    }
  }

  async #check(signal: AbortSignal): Promise<void> {
    const { kind, source, inventory, sink, logger } = this.#options;
    const resourceVersion = await source.version(kind, signal);
    this.#heard();
    this.#advance({ kind: 'checked', resourceVersion });
    if (this.#state.phase === 'listing') {
      logger.warn('the store went back in time, listing again', { kind: formatGroupKind(kind), resourceVersion });
    } else if (!inventory.synced) {
      sink.resumed();
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const { kind, source } = this.#options;
    const { items, resourceVersion } = await source.list(kind, signal);
    this.#heard();
    this.#listed(items.map(entryOf), resourceVersion);
  }

  async #follow(start: WatchStart, signal: AbortSignal): Promise<void> {
    const { kind, source } = this.#options;
    const listing = new Map<string, Entry>();
    for await (const event of source.watch(kind, start, signal)) {
      if (signal.aborted) return;
      this.#heard();
      if (this.#state.phase === 'listing') this.#collect(listing, event);
      else this.#take(event);
    }
    if (!signal.aborted) this.#advance({ kind: 'ended' });
  }

  /** One event of the list that a stream begins with. Nothing is passed on before it is complete. */
  #collect(listing: Map<string, Entry>, event: WatchEvent): void {
    if (event.type === 'BOOKMARK') {
      if (!event.initialEventsEnd) return;
      this.#listed([...listing.values()], event.resourceVersion);
      listing.clear();
      return;
    }
    if (event.type === 'DELETED') listing.delete(event.meta.uid);
    else listing.set(event.meta.uid, entryOf(event.meta));
  }

  #listed(entries: readonly Entry[], resourceVersion: string): void {
    this.#lists += 1;
    this.#replace(entries);
    this.#advance({ kind: 'listed', resourceVersion });
  }

  #replace(entries: readonly Entry[]): void {
    const { inventory, sink } = this.#options;
    const first = !inventory.synced;
    sink.listed(inventory.replace(entries), first);
  }

  #take(event: WatchEvent): void {
    const { inventory, sink } = this.#options;
    if (event.type === 'BOOKMARK') {
      this.#advance({ kind: 'bookmark', resourceVersion: event.resourceVersion });
      return;
    }
    this.#events += 1;
    const change = inventory.apply(event);
    if (change !== undefined && this.#state.phase === 'watching') sink.changed(change, this.#state.resourceVersion);
    this.#advance({ kind: 'event', resourceVersion: event.meta.resourceVersion });
  }

  #recover(error: unknown): void {
    const { kind, inventory, sink, logger } = this.#options;
    const input = inputOf(error, this.#state);
    this.#advance(input);
    if (input.kind === 'unsupported') return;

    if (input.kind === 'absent') this.#heard();
    this.#lastError = messageOf(error);
    const { attempt } = this.#state;
    const delayMs = this.#state.phase === 'backingOff' ? Math.round(this.#state.delayMs) : 0;
    const fields = { kind: formatGroupKind(kind), attempt, delayMs, error: this.#lastError };
    switch (input.kind) {
      case 'expired':
        logger.info('watch expired, listing again', fields);
        return;
      case 'absent':
        logger.info('kind is not there yet, waiting for it', fields);
        // There is no object of a kind that does not exist.
        this.#replace([]);
        return;
      case 'distrusted':
        logger.error('event could not be handled, listing again', { ...fields, error });
        inventory.clear();
        return;
      case 'failed':
        logger.warn('watch failed', fields);
        sink.failed();
        return;
    }
  }

  #advance(input: ReflectorInput): void {
    const { clock, random } = this.#options;
    this.#state = next(this.#state, input, { nowMs: clock.monotonic(), fraction: random.fraction() });
  }

  #heard(): void {
    this.#heardAtMs = this.#options.clock.monotonic();
    this.#lastError = undefined;
  }
}

type Failure = Extract<ReflectorInput, { kind: 'expired' | 'absent' | 'unsupported' | 'failed' | 'distrusted' }>;

function inputOf(error: unknown, state: ReflectorState): Failure {
  if (error instanceof WatchExpiredError) return { kind: 'expired' };
  // Not one of ours: a defect, and nobody knows how much of the event was handed on.
  if (!(error instanceof OperatorError)) return { kind: 'distrusted' };
  if (error instanceof ApiError && error.status.code === 404) return { kind: 'absent' };
  if (error instanceof ApiError && error.status.code === 422 && state.phase === 'listing') {
    return { kind: 'unsupported' };
  }
  return error.retry.kind === 'after' ? { kind: 'failed', retryAfterMs: error.retry.delayMs } : { kind: 'failed' };
}
