import type { AlarmSource, AlarmView, StoreState } from '../../ports/alarm-source.ts';
import type { AlarmWindow } from '../../queue/alarm-table.ts';
import { EmbeddedClient, type EmbeddedClientOptions } from './client.ts';

export interface EmbeddedAlarmSourceOptions extends EmbeddedClientOptions {
  readonly cluster: string;
}

/** Below the client's deadline for one call. Milliseconds. */
const WAIT_MS = 2_000;

/** The alarms of the embedded server's work items, by long polling. */
export class EmbeddedAlarmSource implements AlarmSource {
  readonly #client: EmbeddedClient;
  readonly #cluster: string;

  constructor({ cluster, ...options }: EmbeddedAlarmSourceOptions) {
    this.#client = new EmbeddedClient(options);
    this.#cluster = cluster;
  }

  state(signal: AbortSignal): Promise<StoreState> {
    return this.#client.call('alarms/state', { cluster: this.#cluster }, signal);
  }

  async *follow(window: AlarmWindow, signal: AbortSignal): AsyncIterable<AlarmView> {
    const request = { cluster: this.#cluster, window, waitMs: WAIT_MS };
    let known: string | undefined;
    while (!signal.aborted) {
      const asked = this.#client.call('alarms/view', known === undefined ? request : { ...request, known }, signal);
      const view = await unlessAborted(asked, signal);
      if (view === undefined) return;
      if (view.version === known) continue;
      known = view.version;
      yield view;
    }
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Undefined for what failed because of `signal`. */
async function unlessAborted<T>(asked: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  }
}
