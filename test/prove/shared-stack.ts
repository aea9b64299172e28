import { type Stack, startStack } from '../../infra/local/stack.ts';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { AuditLog } from '../support/audit-log.ts';
import { WebApps } from '../support/web-apps.ts';

/** A running stack, and a user of it. */
export interface Proving {
  readonly stack: Stack;
  readonly webApps: WebApps;
  readonly audit: AuditLog;
  /** Every log line of every part since the start. */
  readonly lines: readonly { readonly part: string; readonly line: string }[];
  /** Every part that ended by itself, and how. */
  readonly restarts: readonly string[];
}

/** One stack for all claims of a run that need one; started by the first. */
export class SharedStack {
  readonly #environment: Environment;
  #proving: Promise<Proving> | undefined;

  /** @param environment stands in for parts of the caller's */
  constructor(environment: Environment = {}) {
    this.#environment = environment;
  }

  get(say: (text: string) => void): Promise<Proving> {
    this.#proving ??= start(say, this.#environment);
    return this.#proving;
  }

  async close(): Promise<void> {
    const proving = await this.#proving?.catch(() => undefined);
    await proving?.stack.stop();
  }
}

async function start(say: (text: string) => void, environment: Environment): Promise<Proving> {
  const restarts: string[] = [];
  const stack = await startStack({
    // Emulators of its own, whatever the caller uses.
    environment: {
      ...process.env,
      PUBSUB_EMULATOR_HOST: undefined,
      FIRESTORE_EMULATOR_HOST: undefined,
      ...environment,
    },
    requireEmulators: true,
    onEvent: (event) => {
      if (event.kind === 'note') say(event.text);
      if (event.kind !== 'restarting') return;
      restarts.push(`${event.part} ${event.how}`);
      say(`${event.part} ${event.how}`);
    },
    signal: new AbortController().signal,
  });
  const lines: { readonly part: string; readonly line: string }[] = [];
  stack.supervisor.onLine((part, line) => lines.push({ part, line }));
  return {
    stack,
    webApps: new WebApps(stack.admin.cluster),
    audit: new AuditLog(stack.controlPlane.auditLog),
    lines,
    restarts,
  };
}
