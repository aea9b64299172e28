import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import { apiErrorOf } from '../../../shared/kube/api-error.ts';
import type { KubeObject } from '../../../shared/kube/object.ts';
import { eachLineOf } from './json-lines.ts';
import type { ClusterAccess } from './kubeconfig.ts';

interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Path and query. */
  readonly path: string;
  readonly body?: unknown;
  /** @default application/json */
  readonly contentType?: string;
  readonly signal?: AbortSignal;
}

/** One line of a watch, whole objects included. */
interface WatchLine {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';
  readonly object: KubeObject;
}

/**
 * The few requests that the local stack itself makes. Small on purpose: it shares nothing with the adapter that
 * operators use, so a fault there cannot hide itself in the tests.
 */
export interface ApiConnection {
  /** @throws {ApiError} or {ConflictError} for a refusal; undici's error when there was no answer. */
  call(call: ApiCall): Promise<KubeObject>;
  /** What exists, then what happens (KEP-3157). Ends when the server closes the stream. */
  watch(path: string): AsyncIterable<WatchLine>;
  close(): Promise<void>;
}

const ANSWER_WITHIN_MS = 10_000;
/** Above the 60 s between two bookmarks: a stream that is silent for longer is dead. */
const WATCH_IDLE_MS = 90_000;

export function connect(access: ClusterAccess): ApiConnection {
  const calls = newAgent(access, ANSWER_WITHIN_MS);
  // Apart from the calls: a connection carries a hundred streams, and the next one waits silently.
  const watches = newAgent(access, WATCH_IDLE_MS);
  const authorization: Record<string, string> =
    'token' in access.user ? { authorization: `Bearer ${access.user.token}` } : {};

  return {
    async call({ method, path, body, contentType = 'application/json', signal }) {
      const response = await request(access.server + path, {
        method,
        dispatcher: calls,
        headers: { ...authorization, 'content-type': contentType },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        ...(signal === undefined ? {} : { signal }),
      });
      return answerOf(`${method} ${path}`, response);
    },

    async *watch(path) {
      const query = 'watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';
      const response = await request(`${access.server}${path}?${query}`, {
        dispatcher: watches,
        headers: authorization,
      });
      if (response.statusCode !== 200) await answerOf(`watch ${path}`, response);
      for await (const line of eachLineOf(response.body)) yield JSON.parse(line) as WatchLine;
    },

    async close() {
      await Promise.all([calls.close(), watches.close()]);
    },
  };
}

const Status = z.object({
  message: z.string().default(''),
  reason: z.string().default(''),
  details: z
    .object({
      causes: z
        .array(
          z.object({ reason: z.string().default(''), message: z.string().default(''), field: z.string().default('') }),
        )
        .default([]),
    })
    .default({ causes: [] }),
});

async function answerOf(what: string, { statusCode, body }: Dispatcher.ResponseData): Promise<KubeObject> {
  const text = await body.text();
  if (statusCode < 300) return JSON.parse(text) as KubeObject;
  const status = Status.parse(text.startsWith('{') ? JSON.parse(text) : { message: text });
  const { message, reason, details } = status;
  throw apiErrorOf(what, { code: statusCode, reason, message, causes: details.causes });
}

function newAgent({ ca, user }: ClusterAccess, bodyTimeout: number): Agent {
  return new Agent({
    headersTimeout: ANSWER_WITHIN_MS,
    bodyTimeout,
    connect: { ca, ...('token' in user ? {} : { cert: user.certificate, key: user.key }) },
  });
}
