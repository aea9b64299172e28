import { Agent, type Dispatcher } from 'undici';
import type { Access } from './credentials.ts';

/** Connections of one endpoint. Calls never share one with watches, which would use up its 100 streams. */
export interface Agents {
  readonly calls: Dispatcher;
  readonly watches: Dispatcher;
}

/** How long the API server may take to begin an answer; it ends every request but watches after 60 s. */
const ANSWER_MS = 30_000;

const COMMON: Agent.Options = {
  connectTimeout: 10_000,
  /** Below the 90 s after which the API server closes an idle connection. */
  keepAliveTimeout: 60_000,
  /** A peer that is gone without a word is noticed within two intervals. */
  h2Options: { pingInterval: 15_000 },
};

const CALLS: Agent.Options = {
  ...COMMON,
  /** 100 streams each; the guard's bulkhead keeps calls far below, because a stream too many waits silently. */
  connections: 4,
  headersTimeout: ANSWER_MS,
  bodyTimeout: ANSWER_MS,
  /** An object has at most 3 MiB, a page of metadata rarely more. */
  maxResponseSize: 64 * 1024 * 1024,
};

/** Keeps the agents for as long as the TLS material stays the same: a new token needs no new connection. */
export class AgentPool {
  readonly #watchIdleMs: number;
  #agents: Agents | undefined;
  #material = '';

  /** @param watchIdleMs how long a watch may say nothing */
  constructor(watchIdleMs: number) {
    this.#watchIdleMs = watchIdleMs;
  }

  for({ tls }: Access): Agents {
    const material = JSON.stringify(tls);
    if (this.#agents === undefined || this.#material !== material) {
      // The old connections end by themselves, when their last watch does.
      void this.close();
      this.#agents = connect(tls, this.#watchIdleMs);
      this.#material = material;
    }
    return this.#agents;
  }

  /** Waits for the requests in flight; abort their signals first. */
  async close(): Promise<void> {
    const agents = this.#agents;
    this.#agents = undefined;
    if (agents !== undefined) await Promise.all([agents.calls.close(), agents.watches.close()]);
  }
}

function connect(tls: Access['tls'], watchIdleMs: number): Agents {
  const connection = { ...tls, keepAlive: true, keepAliveInitialDelay: 30_000 };
  return {
    calls: new Agent({ ...CALLS, connect: connection }),
    watches: new Agent({
      ...COMMON,
      headersTimeout: Math.min(ANSWER_MS, watchIdleMs),
      bodyTimeout: watchIdleMs,
      connect: connection,
    }),
  };
}
