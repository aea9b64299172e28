import { apiErrorOf } from '../../kube/api-error.ts';
import { withoutSecrets } from '../../kube/metadata.ts';
import type { StoredMeta } from '../../kube/object.ts';
import { WatchExpiredError } from '../../kube/watch-error.ts';
import type { WatchEvent } from '../../kube/watch-event.ts';
import { corrupt } from './lines.ts';
import { statusOfObject, type WireStatus } from './status.ts';

/** Closes the list at the start of a WatchList stream (KEP-3157). */
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** An object off the wire: nothing about it is certain. */
export interface WireObject extends WireStatus {
  readonly metadata?: {
    readonly name?: unknown;
    readonly uid?: unknown;
    readonly resourceVersion?: unknown;
    readonly annotations?: { readonly [INITIAL_EVENTS_END]?: unknown };
  };
}

interface WireEvent {
  readonly type?: unknown;
  readonly object?: WireObject;
}

/**
 * The event that a line of a watch stream says.
 *
 * Only metadata is kept, also when the server sent whole objects because it knows no `PartialObjectMetadata` for the
 * kind (aggregated APIs).
 *
 * @param what the request, for messages
 * Errors: `WATCH_CORRUPT` for anything that is not an event; for an `ERROR` event what it says.
 */
export function parseEvent(line: string, what: string): WatchEvent {
  const { type, object = {} } = parsedLine(line) ?? {};
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, meta: metaOf(object) };
    case 'BOOKMARK': {
      const { resourceVersion, annotations } = object.metadata ?? {};
      if (typeof resourceVersion !== 'string') throw corrupt('a bookmark has no resourceVersion');
      return { type, resourceVersion, initialEventsEnd: annotations?.[INITIAL_EVENTS_END] === 'true' };
    }
    case 'ERROR':
      throw streamErrorOf(object, what);
    default:
      throw corrupt(`'${String(type)}' is not a type of event`);
  }
}

/** The metadata of an object, without what must not be held. */
export function metaOf({ metadata }: WireObject): StoredMeta {
  if (!isStoredMeta(metadata)) throw corrupt('an object has no name, uid or resourceVersion');
  return withoutSecrets(metadata);
}

/** Checks what identifies an object; the rest of its metadata is the API server's own contract. */
function isStoredMeta(meta: WireObject['metadata']): meta is WireObject['metadata'] & StoredMeta {
  return typeof meta?.name === 'string' && typeof meta.uid === 'string' && typeof meta.resourceVersion === 'string';
}

function parsedLine(line: string): WireEvent | null {
  try {
    // Every field of the type is optional and looked at before use, so any JSON may pass for it.
    return JSON.parse(line) as WireEvent | null;
  } catch {
    // No cause: the parser's message quotes the line, which may hold what must not be logged.
    throw corrupt('a line is not JSON');
  }
}

function streamErrorOf(object: WireObject, what: string): Error {
  const status = statusOfObject(object);
  if (status.code === 410 || status.reason === 'Expired' || status.reason === 'Gone') {
    return new WatchExpiredError(`cannot ${what}: ${status.message}`);
  }
  return apiErrorOf(what, status);
}
