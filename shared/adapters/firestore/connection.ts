import type { Firestore, Timestamp, WriteResult } from '@google-cloud/firestore';
import { messageOf, OperatorError, TransientError } from '../../errors.ts';
import type { Guard } from '../../ports/guard.ts';
import { Batches } from './batches.ts';

export interface ConnectionOptions {
  readonly projectId: string;
  /** @default '(default)' */
  readonly databaseId?: string;
  /** How calls travel; streams always by gRPC. @default 'grpc' */
  readonly transport?: 'grpc' | 'rest';
  /** Bounds each RPC. */
  readonly guard: Guard;
}

export interface Client {
  readonly db: Firestore;
  readonly batches: Batches;
  readonly Timestamp: typeof Timestamp;
}

/**
 * A database, connected at the first call: loading the library takes 200 ms, which a cold start should not pay for.
 *
 * The library itself goes to the emulator when `FIRESTORE_EMULATOR_HOST` is set.
 */
export class Connection {
  readonly #options: ConnectionOptions;
  #client: Promise<Client> | undefined;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /**
   * One guarded RPC. The library takes no signal: a call that is given up may still arrive, so it must be one that bears
   * that, as a read or a compare-and-swap does.
   *
   * @param what `read local/webapp …`, for messages
   * @throws {TransientError} `STORE_UNAVAILABLE` for whatever the server or the way to it refused
   */
  async call<T>(what: string, rpc: (client: Client) => Promise<T>, caller: AbortSignal): Promise<T> {
    return this.#options.guard(async (signal) => {
      signal.throwIfAborted();
      try {
        return await unlessAborted(this.connect().then(rpc), signal);
      } catch (error) {
        signal.throwIfAborted();
        if (error instanceof OperatorError || codeOf(error) === undefined) throw error;
        throw new TransientError('STORE_UNAVAILABLE', `cannot ${what}: ${messageOf(error)}`, { cause: error });
      }
    }, caller);
  }

  /** The library's client, for what is not a call: a stream. Loads the library at first. */
  connect(): Promise<Client> {
    this.#client ??= connect(this.#options);
    return this.#client;
  }

  /** Loads the library, so that the first call need not. */
  async prepare(): Promise<void> {
    await this.connect();
  }

  async close(): Promise<void> {
    const client = await this.#client;
    await client?.batches.close();
    await client?.db.terminate();
  }
}

/** The gRPC status of a refusal, or the system's code of a broken connection. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** gRPC: NOT_FOUND, ALREADY_EXISTS, FAILED_PRECONDITION. An answer, not a failure, so no guard should count it. */
const LOST: readonly unknown[] = [5, 6, 9];

/** `lost` when a precondition did not hold. */
export async function unlessLost(write: Promise<WriteResult>): Promise<WriteResult | 'lost'> {
  try {
    return await write;
  } catch (error) {
    if (LOST.includes(codeOf(error))) return 'lost';
    throw error;
  }
}

/**
 * How soon a connection that was refused is tried again. Left alone, gRPC waits longer and longer, up to two minutes: a
 * store that comes back after half a minute would be found twenty seconds later.
 */
const RECONNECT = { 'grpc.initial_reconnect_backoff_ms': 100, 'grpc.max_reconnect_backoff_ms': 1_000 };

async function connect({ projectId, databaseId, transport = 'grpc' }: ConnectionOptions): Promise<Client> {
  const { Firestore, Timestamp } = await import('@google-cloud/firestore');
  const database = databaseId === undefined ? {} : { databaseId };
  const db = new Firestore({ projectId, ...database, preferRest: transport === 'rest', ...RECONNECT });
  return { db, batches: new Batches(db), Timestamp };
}

function unlessAborted<T>(result: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const stop = () => reject(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  result.then(resolve, reject);
  return promise.finally(() => signal.removeEventListener('abort', stop));
}
