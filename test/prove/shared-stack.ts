import { type Stack, type StackEvent, type StackOptions, startStack } from '../../infra/local/stack.ts';
import { AuditLog } from '../support/audit-log.ts';
import { WebApps } from '../support/web-apps.ts';

/** A running stack, and a user of it. */
export interface Proving {
  readonly stack: Stack;
  readonly webApps: WebApps;
  readonly audit: AuditLog;
  /** What happened to the parts. */
  readonly events: readonly StackEvent[];
  /** Every log line of every part since the start. */
  readonly lines: readonly { readonly part: string; readonly line: string }[];
}

/** What a claim may want different. */
export type ProvingOptions = Partial<Pick<StackOptions, 'instances' | 'strict' | 'environment'>>;

/** One stack for all claims of a run that need one; started by the first. */
export class SharedStack {
  readonly #options: ProvingOptions;
  #proving: Promise<Proving> | undefined;

  constructor(options: ProvingOptions = {}) {
    this.#options = options;
  }

  get(say: (text: string) => void): Promise<Proving> {
    this.#proving ??= start(this.#options, say);
    return this.#proving;
  }

  async close(): Promise<void> {
    const proving = await this.#proving?.catch(() => undefined);
    await proving?.stack.stop();
  }
}

async function start({ environment, ...options }: ProvingOptions, say: (text: string) => void): Promise<Proving> {
  const events: StackEvent[] = [];
  const stack = await startStack({
    ...options,
    // Emulators of its own, whatever the caller uses.
    environment: {
      ...process.env,
      PUBSUB_EMULATOR_HOST: undefined,
      FIRESTORE_EMULATOR_HOST: undefined,
      ...environment,
    },
    requireEmulators: true,
    onEvent: (event) => {
      events.push(event);
      if (event.kind === 'note') say(event.text);
      if (event.kind === 'restarting') say(`${event.part} ${event.how}`);
    },
    signal: new AbortController().signal,
  });
  const lines: { readonly part: string; readonly line: string }[] = [];
  stack.supervisor.onLine((part, line) => lines.push({ part, line }));
  return {
    stack,
    webApps: new WebApps(stack.admin.user),
    audit: new AuditLog(stack.controlPlane.auditLog),
    events,
    lines,
  };
}
