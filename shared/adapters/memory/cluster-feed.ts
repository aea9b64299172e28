import { formatGroupKind, type Kind } from '../../kube/kind.ts';
import { WatchExpiredError } from '../../kube/watch-error.ts';
import type { WatchEvent } from '../../kube/watch-event.ts';
import type { LoggedEvent } from './cluster-store.ts';

/** Like an API server's watch cache, the feed remembers only so much. */
const REMEMBERED_EVENTS = 10_000;

/** What happened in a cluster, for as many watches as want to follow. */
export class ClusterFeed {
  #log: LoggedEvent[] = [];
  #forgotten: number;
  #epoch = 0;
  readonly #waiting = new Set<() => void>();

  /** @param start the version at which the cluster began; earlier ones are too old */
  constructor(start: number) {
    this.#forgotten = start;
  }

  append(event: LoggedEvent): void {
    this.#log.push(event);
    if (this.#log.length > REMEMBERED_EVENTS) this.forget(this.#log[0]?.version ?? 0);
    this.#wake();
  }

  /** Forgets events up to this version; watches that still need them expire. */
  forget(version: number): void {
    this.#forgotten = Math.max(this.#forgotten, version);
    this.#log = this.#log.filter((logged) => logged.version > version);
  }

  /** Ends all open watches, as a server does at its time limit. */
  end(): void {
    this.#epoch += 1;
    this.#wake();
  }

  /** Events of a kind after `version`, until the feed ends them: from now on, whenever the first one is read. */
  follow(kind: Kind, version: number, signal: AbortSignal): AsyncIterable<WatchEvent> {
    return this.#follow(kind, version, this.#epoch, signal);
  }

  async *#follow(kind: Kind, version: number, epoch: number, signal: AbortSignal): AsyncIterable<WatchEvent> {
    const groupKind = formatGroupKind(kind);
    for (let at = version; epoch === this.#epoch; ) {
      if (at < this.#forgotten) {
        throw new WatchExpiredError(`cannot watch ${groupKind}: too old resource version: ${at} (${this.#forgotten})`);
      }
      const next = this.#log.find((logged) => logged.version > at && logged.groupKind === groupKind);
      if (next === undefined) {
        at = Math.max(at, this.#log.at(-1)?.version ?? 0);
        await this.#news(signal);
      } else {
        at = next.version;
        yield next.event;
      }
    }
  }

  #news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const wake = () => {
        signal.removeEventListener('abort', stop);
        resolve();
      };
      const stop = () => {
        this.#waiting.delete(wake);
        reject(signal.reason);
      };
      this.#waiting.add(wake);
      signal.addEventListener('abort', stop, { once: true });
    });
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }
}
