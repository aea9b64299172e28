import { ConflictError } from '../../errors.ts';
import { ApiError } from '../../kube/api-error.ts';
import { ConfigMap } from '../../kube/builtin.ts';
import { FENCE, FENCED_USER, NAMELESS } from '../../kube/fence.ts';
import type { Fence } from '../../ports/fence.ts';
import { objectPath } from './paths.ts';
import type { ApiRequest, Transport } from './transport.ts';

/** How many holders the fence remembers: fifty kilobytes, which the server stores and tells anew at each change. */
const MAX_ENTRIES = 500;
/** How many it still remembers when it had to forget some. */
const KEPT_ENTRIES = 400;

/** Lost races against other instances; the server itself tries five times before it says that one was lost. */
const MAX_CONFLICTS = 20;

/** Fewer than the fence keeps whatever others put on it meanwhile; races for a lease are over within seconds. */
const REMEMBERED = 50;

const NEVER = new AbortController().signal;

/**
 * The fence as a ConfigMap, which a ValidatingAdmissionPolicy reads (`shared/reconcile/fence-objects.ts`).
 *
 * An entry of its own for each holder, put in by a merge patch without a precondition: many thieves at once never take
 * each other's entries away. Those of one process that come while a patch is under way share the next one.
 */
export class KubernetesFence implements Fence {
  readonly #transport: Transport;
  /** Who waits for the patch under way to end. */
  #next: { readonly holders: string[]; readonly sent: Promise<void> } | undefined;
  #turn: Promise<void> = Promise.resolve();
  /** Those that are on it for certain, oldest first: whoever lost a race for a lease need not put its holder there again. */
  readonly #sent = new Set<string>();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  async add(holders: readonly string[], signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const missing = holders.filter((holder) => !this.#sent.has(holder));
    if (missing.length === 0) return;
    this.#next ??= this.#openNext();
    this.#next.holders.push(...missing);
    const aborted = Promise.withResolvers<never>();
    const abort = (): void => aborted.reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      await Promise.race([this.#next.sent, aborted.promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  #openNext(): { readonly holders: string[]; readonly sent: Promise<void> } {
    const holders: string[] = [];
    const sent = this.#turn.then(() => {
      this.#next = undefined;
      return this.#send(holders);
    });
    this.#turn = sent.catch(() => undefined); // Whoever waits for it gets its error; the next one has its turn.
    return { holders, sent };
  }

  async #send(holders: readonly string[]): Promise<void> {
    const at = String(Date.now());
    const data = await this.#patch(Object.fromEntries(holders.map((holder) => [holder, at])));
    this.#remember(holders);
    const entries = Object.entries(data);
    if (entries.length <= MAX_ENTRIES) return;
    const oldestFirst = entries.sort(([, x], [, y]) => Number(x) - Number(y));
    const dropped = oldestFirst.slice(0, entries.length - KEPT_ENTRIES);
    await this.#patch(Object.fromEntries(dropped.map(([holder]) => [holder, null])));
  }

  #remember(holders: readonly string[]): void {
    for (const holder of holders) this.#sent.add(holder);
    for (const oldest of this.#sent) {
      if (this.#sent.size <= REMEMBERED) return;
      this.#sent.delete(oldest);
    }
  }

  /**
   * For administrators: whether the policy is in force, which takes up to a second after it was made.
   *
   * Asks with a write that is not carried out, as the functions' user, who may do all for this once, and without a holder.
   */
  async isEnforced(signal: AbortSignal): Promise<boolean> {
    const headers = { 'impersonate-user': FENCED_USER, 'impersonate-group': 'system:masters' };
    try {
      await this.#transport.call({ ...patchRequest({}), query: { dryRun: 'All' }, headers }, signal);
      return false;
    } catch (error) {
      if (error instanceof ApiError && error.status.code === 403 && error.status.message.includes(NAMELESS))
        return true;
      throw error;
    }
  }

  /** @returns all entries, as they are then */
  async #patch(data: Entries<string | null>): Promise<Entries<string>> {
    for (let conflicts = 0; ; conflicts++) {
      try {
        const { body } = await this.#transport.call(patchRequest({ data }), NEVER);
        return (body as { readonly data?: Entries<string> }).data ?? {};
      } catch (error) {
        if (!(error instanceof ConflictError) || conflicts >= MAX_CONFLICTS) throw error;
      }
    }
  }
}

type Entries<T> = Readonly<Record<string, T>>;

function patchRequest(patch: object): ApiRequest {
  return {
    method: 'PATCH',
    path: objectPath(ConfigMap, FENCE),
    query: { fieldManager: 'driftless-fence' },
    contentType: 'application/merge-patch+json',
    // Who owns which entry is of no interest, and would be as much data again.
    body: JSON.stringify({ ...patch, metadata: { managedFields: [{}] } }),
    what: `patch ConfigMap ${FENCE.namespace}/${FENCE.name}`,
  };
}
