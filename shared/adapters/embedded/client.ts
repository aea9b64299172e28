import { Pool } from 'undici';
import { messageOf, TransientError } from '../../errors.ts';
import type { Operation, RequestOf, ResultOf } from './protocol.ts';

export interface EmbeddedClientOptions {
  /** `http://127.0.0.1:4000` */
  readonly url: string;
  /** How long one call may take. Milliseconds. @default 5000 */
  readonly timeoutMs?: number;
}

/** Calls the embedded server, whose work items and messages stand in for Firestore and Pub/Sub on a laptop. */
export class EmbeddedClient {
  readonly #pool: Pool;
  readonly #timeoutMs: number;

  constructor({ url, timeoutMs = 5_000 }: EmbeddedClientOptions) {
    this.#timeoutMs = timeoutMs;
    this.#pool = new Pool(url, { connections: 32, connect: { timeout: timeoutMs } });
  }

  /** @throws {TransientError} when the server is away, too slow, or refuses; the signal's reason when it aborts */
  async call<O extends Operation>(operation: O, request: RequestOf<O>, signal?: AbortSignal): Promise<ResultOf<O>> {
    const deadline = AbortSignal.timeout(this.#timeoutMs);
    try {
      const { statusCode, body } = await this.#pool.request({
        method: 'POST',
        path: `/${operation}`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(request),
        signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
      });
      // The protocol's other end is of the same build.
      const answer = (await body.json()) as Answer<O>;
      if (statusCode === 200 && 'result' in answer) return answer.result;
      throw 'code' in answer
        ? new TransientError(answer.code, answer.message)
        : new Error(`the embedded server answered ${statusCode}`);
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TransientError) throw error;
      throw new TransientError('EMBEDDED_UNAVAILABLE', `cannot call ${operation}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}

type Answer<O extends Operation> =
  | { readonly result: ResultOf<O> }
  | { readonly code: string; readonly message: string };
