import { OperatorError, type Retry } from '../errors.ts';
import type { Publisher, Topic } from '../ports/broker.ts';
import type { Clock } from '../ports/clock.ts';
import type { LogFields, Logger } from '../ports/logger.ts';
import type { Random } from '../ports/random.ts';
import { Pause } from '../queue/pause.ts';
import { TenantBudgets } from '../queue/tenant-budgets.ts';
import type { Checkpoint, Origin } from './checkpoint.ts';
import { Coalescer, type CoalescerOptions, type Parcel } from './coalesce.ts';
import type { Ring } from './mapping.ts';
import { backoffMs } from './reflector-state.ts';

export interface DispatcherOptions extends CoalescerOptions {
  readonly publisher: Publisher;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** Publishes under way at once, for each topic, so that neither can hold up the other. @default 100, a full batch */
  readonly maxInFlight?: number;
}

export interface DispatcherStats {
  readonly published: Readonly<Record<Topic, number>>;
  readonly failures: number;
  /** Objects that wait, are under way, or rest in their window. */
  readonly objects: number;
  readonly inFlight: number;
  /** Objects that wait because their tenant is over its budget. */
  readonly heldBack: number;
  /** Tenants that are over their budget, and what went to the background for that since the start. */
  readonly tenants: TenantBudgets['stats'];
}

/** How long the last rings may take when the process ends. */
const FLUSH_MS = 2_000;

/** Later than every window and every backoff. */
const EVENTUALLY = Number.MAX_VALUE;
const NEVER = Number.POSITIVE_INFINITY;

const TOPICS = ['changes', 'background'] as const satisfies readonly Topic[];

/**
 * Sends rings. A ring that the broker does not take stays marked and is tried again, for ever, with backoff of its
 * own; newer ones of the same object join it.
 */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #pause: Pause;
  readonly #budgets: TenantBudgets;
  readonly #coalescer: Coalescer;
  readonly #maxInFlight: number;
  readonly #published: Record<Topic, number> = { changes: 0, background: 0 };
  readonly #inFlight: Record<Topic, number> = { changes: 0, background: 0 };
  #failures = 0;
  #phase: 'running' | 'flushing' = 'running';
  #broker: 'well' | 'failing' = 'well';

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#budgets = options.budgets ?? new TenantBudgets();
    this.#coalescer = new Coalescer({ ...options, budgets: this.#budgets });
    this.#pause = new Pause(options.clock);
    this.#maxInFlight = options.maxInFlight ?? 100;
  }

  /** Takes the ring over; it is sent while `run` runs. `origins` as for `Coalescer.offer`. */
  ring(ring: Ring, origins: readonly Origin[] = []): void {
    this.#coalescer.offer(ring, this.#options.clock.monotonic(), origins);
    this.#pause.wake();
  }

  /** Sends until `signal` aborts, then what still waits, for at most two seconds. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const wake = () => this.#pause.wake();
    signal.addEventListener('abort', wake, { once: true });
    while (!signal.aborted) {
      const now = clock.monotonic();
      this.#start(now);
      this.#tell(now);
      await this.#pause.wait(this.#nextAt() - now);
    }
    await this.#flush();
  }

  /** Up to where the broker has taken everything, of what was `heard` of each kind. */
  checkpoint(heard: ReadonlyMap<string, string>): Checkpoint {
    return this.#coalescer.checkpoint(heard);
  }

  stats(): DispatcherStats {
    return {
      published: { ...this.#published },
      failures: this.#failures,
      objects: this.#coalescer.size,
      inFlight: this.#inFlight.changes + this.#inFlight.background,
      heldBack: this.#coalescer.heldBack,
      tenants: this.#budgets.stats,
    };
  }

  async #flush(): Promise<void> {
    const { clock, logger } = this.#options;
    const end = clock.monotonic() + FLUSH_MS;
    this.#phase = 'flushing';
    this.#start(EVENTUALLY);
    while (this.stats().inFlight > 0 && clock.monotonic() < end) {
      await this.#pause.wait(end - clock.monotonic());
      this.#start(EVENTUALLY);
    }
    const unsent = this.#coalescer.size;
    // Not lost: the next start rings every object that exists.
    if (unsent > 0) logger.warn('doorbells left unsent', { unsent });
  }

  /** Sends what is due by `now`, as far as there is room. */
  #start(now: number): void {
    for (const topic of TOPICS) {
      while (this.#inFlight[topic] < this.#maxInFlight) {
        const parcel = this.#coalescer.take(topic, now);
        if (parcel === undefined) break;
        this.#inFlight[topic] += 1;
        this.#publish(parcel.ring).then(
          (messageId) => this.#delivered(parcel, messageId),
          (error: unknown) => this.#failed(parcel, error),
        );
      }
    }
  }

  /** Once for a tenant, not for each of its messages. */
  #tell(now: number): void {
    const { logger } = this.#options;
    for (const news of this.#budgets.news(now)) {
      if (news.kind === 'over-budget') logger.warn('tenant is over its budget', { tenant: news.tenant });
      else logger.info('tenant is within its budget again', { tenant: news.tenant, demoted: news.demoted });
    }
  }

  /** Async, so that a message which cannot be encoded fails like one which cannot be sent. */
  async #publish({ topic, doorbell }: Ring): Promise<string> {
    return await this.#options.publisher.publish(topic, doorbell);
  }

  #delivered(parcel: Parcel, messageId: string): void {
    const { clock, logger } = this.#options;
    const { ring, sinceMs } = parcel;
    this.#coalescer.delivered(parcel);
    this.#landed(ring.topic);
    this.#published[ring.topic] += 1;
    if (this.#broker === 'failing') logger.info('broker takes doorbells again');
    this.#broker = 'well';
    logger.info('doorbell published', {
      ...fieldsOf(ring),
      messageId,
      news: ring.doorbell.news.kind,
      lagMs: Math.round(clock.monotonic() - sinceMs),
    });
  }

  #failed(parcel: Parcel, error: unknown): void {
    const { clock, random, logger } = this.#options;
    const { ring, failures } = parcel;
    this.#failures += 1;
    this.#landed(ring.topic);
    const retry: Retry = error instanceof OperatorError ? error.retry : { kind: 'backoff' };
    if (retry.kind === 'never') {
      this.#coalescer.delivered(parcel);
      logger.error('doorbell cannot be sent', { ...fieldsOf(ring), error });
      return;
    }
    const delayMs = retry.kind === 'after' ? retry.delayMs : backoffMs(failures + 1, random.fraction());
    this.#coalescer.failed(parcel, this.#phase === 'flushing' ? NEVER : clock.monotonic() + delayMs);
    // Once for an outage, not for each of thousands of objects.
    if (this.#broker === 'well') logger.warn('broker does not take doorbells', { ...fieldsOf(ring), error });
    this.#broker = 'failing';
  }

  #landed(topic: Topic): void {
    this.#inFlight[topic] -= 1;
    this.#pause.wake();
  }

  #nextAt(): number {
    const open = TOPICS.filter((topic) => this.#inFlight[topic] < this.#maxInFlight);
    return Math.min(...open.map((topic) => this.#coalescer.nextAt(topic) ?? NEVER));
  }
}

function fieldsOf({ topic, doorbell }: Ring): LogFields {
  const { cluster, controller, namespace, name } = doorbell.key;
  return { cluster, controller, namespace, name, trigger: doorbell.trigger, topic };
}
