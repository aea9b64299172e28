import { isDeepStrictEqual } from 'node:util';
import { type Dispatcher, errors, request as send } from 'undici';
import packageJson from '../../../package.json' with { type: 'json' };
import { messageOf, TransientError } from '../../errors.ts';
import { apiErrorOf } from '../../kube/api-error.ts';
import type { Guard } from '../../ports/guard.ts';
import { AgentPool, type Agents } from './agents.ts';
import type { Access, Credentials } from './credentials.ts';
import { statusOfResponse } from './status.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'PATCH' | 'POST' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly accept?: string;
  /** With `body`. */
  readonly contentType?: string;
  /** JSON text. */
  readonly body?: string;
  /** Besides the others, or in place of them. Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Called each time just before the request is given to a connection; what it throws is thrown, and nothing is sent. */
  readonly assertMaySend?: () => void;
  /** For messages: `apply Deployment.apps default/web`. */
  readonly what: string;
}

export interface ApiResponse {
  /** 200 or 201; everything else is thrown. */
  readonly code: number;
  readonly body: unknown;
}

/** Where requests go: to one API server, over few connections. */
export interface Transport {
  /**
   * One request with its whole answer, through the guard.
   *
   * Errors: what `apiErrorOf` makes of a refusal; `TransientError` `API_UNREACHABLE` when there was no answer,
   * `API_CORRUPT` when it is not JSON; the guard's own.
   */
  call(request: ApiRequest, signal: AbortSignal): Promise<ApiResponse>;
  /**
   * A request whose answer does not end, outside of the guard: a deadline would cut it off.
   *
   * Errors: as for `call`; `STREAM_SILENT` when nothing came for too long.
   */
  stream(request: ApiRequest, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Waits for what is in flight; abort its signals first. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly credentials: Credentials;
  readonly guard: Guard;
  /**
   * How long a stream may say nothing, armed at connect. Milliseconds; above the 60 s at which bookmarks come.
   * @default 80000
   */
  readonly streamIdleMs?: number;
}

/** Calls and watches use different connections, because a watch holds a stream for minutes. */
type Lane = keyof Agents;

/** An error body is for people; more than this of it is not read. Bytes. */
const ERROR_BODY_LIMIT = 64 * 1024;

export function createTransport({ credentials, guard, streamIdleMs = 80_000 }: TransportOptions): Transport {
  const pool = new AgentPool(streamIdleMs);
  return {
    call: (request, caller) =>
      guard(async (signal) => {
        const response = await ask(credentials, pool, request, 'calls', signal);
        const text = await translating(request, signal, () => response.body.text());
        return { code: response.statusCode, body: parsed(request, text) };
      }, caller),

    async *stream(request, signal) {
      const response = await ask(credentials, pool, request, 'watches', signal);
      try {
        yield* response.body;
      } catch (error) {
        throw unreachable(request, error, signal);
      }
    },

    close: () => pool.close(),
  };
}

/** A good answer, or an error. An identity that was refused is renewed once. */
async function ask(credentials: Credentials, pool: AgentPool, request: ApiRequest, lane: Lane, signal: AbortSignal) {
  const access = await credentials.current();
  let response = await sendAs(access, pool, request, lane, signal);
  if (response.statusCode === 401) {
    const renewed = await credentials.renewed(access);
    if (!isDeepStrictEqual(renewed, access)) {
      await translating(request, signal, () => response.body.dump());
      response = await sendAs(renewed, pool, request, lane, signal);
    }
  }
  if (response.statusCode < 200 || response.statusCode > 299) {
    const text = await translating(request, signal, () => startOf(response.body));
    throw apiErrorOf(request.what, statusOfResponse(response.statusCode, response.headers, text));
  }
  return response;
}

async function sendAs(access: Access, pool: AgentPool, request: ApiRequest, lane: Lane, signal: AbortSignal) {
  const { method, path, query, body, accept = 'application/json', contentType, headers } = request;
  request.assertMaySend?.();
  return await translating(request, signal, () =>
    send(`${access.origin}${access.basePath}${path}`, {
      dispatcher: pool.for(access)[lane],
      method,
      signal,
      headers: {
        ...access.headers,
        accept,
        'user-agent': `driftless/${packageJson.version}`,
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...headers,
      },
      ...(query === undefined ? {} : { query }),
      ...(body === undefined ? {} : { body }),
    }),
  );
}

async function translating<T>(request: ApiRequest, signal: AbortSignal, io: () => Promise<T>): Promise<T> {
  try {
    return await io();
  } catch (error) {
    throw unreachable(request, error, signal);
  }
}

function unreachable(request: ApiRequest, cause: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (cause instanceof errors.BodyTimeoutError) {
    return new TransientError('STREAM_SILENT', `cannot ${request.what}: the stream said nothing for too long`, {
      cause,
    });
  }
  return new TransientError('API_UNREACHABLE', `cannot ${request.what}: ${messageOf(cause)}`, { cause });
}

async function startOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= ERROR_BODY_LIMIT) break;
  }
  return Buffer.concat(chunks).toString('utf8', 0, ERROR_BODY_LIMIT);
}

function parsed(request: ApiRequest, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // No cause: the parser's message quotes the text, which may be a Secret's.
    throw new TransientError('API_CORRUPT', `cannot ${request.what}: the answer is not JSON`);
  }
}
