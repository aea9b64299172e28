import { TransientError } from '../../shared/errors.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
import { formatGroupKind, type Kind } from '../../shared/kube/kind.ts';
import type { ObjectMeta, StoredMeta } from '../../shared/kube/object.ts';
import { WatchExpiredError } from '../../shared/kube/watch-error.ts';
import type { WatchEvent } from '../../shared/kube/watch-event.ts';
import type { MetadataList, MetadataSource, WatchStart } from '../../shared/ports/metadata-source.ts';

/** What was asked of the source: `list`, `watch from list`, `watch from 104`. */
export interface Asked {
  readonly kind: string;
  readonly what: string;
}

/** Metadata of a cluster in memory, with a history that can be forgotten and streams that can break. */
export class ModelSource implements MetadataSource {
  readonly asked: Asked[] = [];
  /** How often the store's version was asked for. */
  probes = 0;
  /** `pages`: the server knows no lists by stream (KEP-3157). */
  listsBy: 'stream' | 'pages' = 'stream';
  #resourceVersion = 100;
  #forgottenUntil = 100;
  #history: { readonly kind: string; readonly version: number; readonly event: WatchEvent }[] = [];
  readonly #objects = new Map<string, StoredMeta>();
  readonly #streams = new Map<string, Stream>();
  readonly #outages = new Map<string, Error>();

  /** Creates or changes an object. Its uid is `uid-{name}` unless it says another. */
  put(kind: Kind, meta: ObjectMeta): StoredMeta {
    const uid = meta.uid ?? `uid-${meta.name}`;
    const stored = { namespace: 'default', ...meta, uid, resourceVersion: this.#nextVersion() };
    const type = this.#objects.has(objectId(kind, uid)) ? 'MODIFIED' : 'ADDED';
    this.#objects.set(objectId(kind, uid), stored);
    this.#publish(kind, { type, meta: stored });
    return stored;
  }

  remove(kind: Kind, uid: string): void {
    const meta = this.#objects.get(objectId(kind, uid));
    if (meta === undefined) return;
    this.#objects.delete(objectId(kind, uid));
    this.#publish(kind, { type: 'DELETED', meta: { ...meta, resourceVersion: this.#nextVersion() } });
  }

  objects(kind: Kind): readonly StoredMeta[] {
    return [...this.#objects].filter(([id]) => id.startsWith(`${formatGroupKind(kind)}/`)).map(([, meta]) => meta);
  }

  bookmark(kind: Kind): void {
    const resourceVersion = String(this.#resourceVersion);
    this.#streams.get(formatGroupKind(kind))?.push({ type: 'BOOKMARK', resourceVersion, initialEventsEnd: false });
  }

  /** Ends the open stream of the kind, cleanly or with the error. */
  breakStream(kind: Kind, error?: Error): void {
    this.#streams.get(formatGroupKind(kind))?.end(error);
  }

  /** As after a restart of the API server: every older resourceVersion has expired. */
  forgetHistory(): void {
    this.#nextVersion();
    this.#forgottenUntil = this.#resourceVersion;
    this.#history = [];
  }

  /** Every request for the kind fails like this, until `recover`. */
  fail(kind: Kind, error: Error): void {
    this.#outages.set(formatGroupKind(kind), error);
  }

  recover(kind: Kind): void {
    this.#outages.delete(formatGroupKind(kind));
  }

  /** How many streams are open, of all kinds. */
  get openStreams(): number {
    return this.#streams.size;
  }

  async list(kind: Kind, signal: AbortSignal): Promise<MetadataList> {
    this.#ask(kind, 'list');
    signal.throwIfAborted();
    return { items: this.objects(kind), resourceVersion: String(this.#resourceVersion) };
  }

  async version(kind: Kind, signal: AbortSignal): Promise<string> {
    this.probes += 1;
    const outage = this.#outages.get(formatGroupKind(kind));
    if (outage !== undefined) throw outage;
    signal.throwIfAborted();
    return String(this.#resourceVersion);
  }

  /** As after a restore from a backup: nothing since `resourceVersion` has happened, and the objects are as then. */
  restore(resourceVersion: string): void {
    this.#resourceVersion = Number(resourceVersion);
    this.#history = this.#history.filter(({ version }) => version <= this.#resourceVersion);
  }

  async *watch(kind: Kind, start: WatchStart, signal: AbortSignal): AsyncIterable<WatchEvent> {
    this.#ask(kind, `watch from ${start.from === 'list' ? 'list' : start.resourceVersion}`);
    const name = formatGroupKind(kind);
    if (this.#streams.has(name)) throw new Error(`${name} is watched twice`);
    const stream = new Stream(signal);
    this.#streams.set(name, stream);
    try {
      for (const event of this.#beginning(kind, start)) stream.push(event);
      yield* stream.events();
    } finally {
      this.#streams.delete(name);
    }
  }

  #beginning(kind: Kind, start: WatchStart): readonly WatchEvent[] {
    if (start.from === 'list') {
      if (this.listsBy === 'pages') throw apiError(422, 'Invalid');
      const resourceVersion = String(this.#resourceVersion);
      return [
        ...this.objects(kind).map((meta) => ({ type: 'ADDED', meta }) as const),
        { type: 'BOOKMARK', resourceVersion, initialEventsEnd: true },
      ];
    }
    const from = Number(start.resourceVersion);
    if (from < this.#forgottenUntil) throw new WatchExpiredError('too old resource version');
    const name = formatGroupKind(kind);
    return this.#history.filter((entry) => entry.kind === name && entry.version > from).map(({ event }) => event);
  }

  #ask(kind: Kind, what: string): void {
    const name = formatGroupKind(kind);
    this.asked.push({ kind: name, what });
    const outage = this.#outages.get(name);
    if (outage !== undefined) throw outage;
  }

  #publish(kind: Kind, event: WatchEvent): void {
    this.#history.push({ kind: formatGroupKind(kind), version: this.#resourceVersion, event });
    this.#streams.get(formatGroupKind(kind))?.push(event);
  }

  #nextVersion(): string {
    this.#resourceVersion += 1;
    return String(this.#resourceVersion);
  }
}

export function apiError(code: number, reason: string, retryAfterMs?: number): ApiError {
  const causes = code === 422 ? [{ reason: 'FieldValueForbidden', message: '', field: 'sendInitialEvents' }] : [];
  return new ApiError('watch', {
    code,
    reason,
    message: reason,
    causes,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}

export function brokenStream(): TransientError {
  return new TransientError('STREAM_BROKEN', 'other side closed');
}

/** Lets everything that is ready happen; no time passes on a `FakeClock`. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

function objectId(kind: Kind, uid: string): string {
  return `${formatGroupKind(kind)}/${uid}`;
}

type Item = { readonly kind: 'event'; readonly event: WatchEvent } | { readonly kind: 'end'; readonly error?: Error };

class Stream {
  readonly #signal: AbortSignal;
  readonly #items: Item[] = [];
  #wake: () => void = () => {};

  constructor(signal: AbortSignal) {
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#wake(), { once: true });
  }

  push(event: WatchEvent): void {
    this.#add({ kind: 'event', event });
  }

  end(error?: Error): void {
    this.#add({ kind: 'end', ...(error === undefined ? {} : { error }) });
  }

  async *events(): AsyncGenerator<WatchEvent> {
    for (;;) {
      this.#signal.throwIfAborted();
      const item = this.#items.shift();
      if (item?.kind === 'event') yield item.event;
      else if (item?.error !== undefined) throw item.error;
      else if (item !== undefined) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #add(item: Item): void {
    this.#items.push(item);
    this.#wake();
  }
}
