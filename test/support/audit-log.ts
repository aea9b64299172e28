import { readFileSync } from 'node:fs';

/** One request as the API server saw it. */
export interface AuditedRequest {
  readonly user: string;
  readonly verb: string;
  /** `deployments`, `webapps/status` */
  readonly resource: string;
  readonly name: string;
  readonly code: number;
}

/** A write that the API server accepted, and that changed something. */
export interface AcceptedWrite {
  /** `deployments default/web`, `webapps/status default/web` */
  readonly object: string;
  /** Whose it was, as its User-Agent says; undefined when it does not. */
  readonly holderIdentity: string | undefined;
  /** Epoch milliseconds. It took effect between these two. */
  readonly receivedAt: number;
  readonly completedAt: number;
  /** The resourceVersion that it left, which gives the order; undefined for a deletion. */
  readonly version: number | undefined;
}

const OURS = 'system:serviceaccount:driftless-system:';
const WRITES = new Set(['create', 'update', 'patch', 'delete', 'deletecollection']);

/** The API server's own record of requests: what a claim about writes is counted with, not our own counters. */
export class AuditLog {
  readonly #path: string;
  #skip = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Forgets what came so far. */
  mark(): void {
    this.#skip = this.#lines().length;
  }

  /** Requests since the mark that Driftless' own service accounts sent. */
  ours(): readonly AuditedRequest[] {
    return this.#lines()
      .slice(this.#skip)
      .map(toRequest)
      .filter(({ user }) => user.startsWith(OURS));
  }

  ourWrites(): readonly AuditedRequest[] {
    return this.ours().filter(({ verb }) => WRITES.has(verb));
  }

  /** Those since the mark, in the order in which they were answered. */
  acceptedWrites(): readonly AcceptedWrite[] {
    return this.#lines()
      .slice(this.#skip)
      .filter((line) => line.includes(OURS))
      .map((line) => JSON.parse(line) as AuditEvent)
      .filter((event) => event.user.username.startsWith(OURS) && isAcceptedWrite(event) && !changedNothing(event))
      .map(toAcceptedWrite);
  }

  #lines(): readonly string[] {
    // The last line may still be being written.
    return readFileSync(this.#path, 'utf8').split('\n').slice(0, -1);
  }
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly userAgent?: string;
  readonly objectRef?: {
    readonly resource?: string;
    readonly subresource?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
  readonly responseStatus?: { readonly code?: number };
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  /** For what our accounts write. */
  readonly requestObject?: AuditedObject;
  readonly responseObject?: AuditedObject;
}

interface AuditedObject {
  readonly metadata?: { readonly resourceVersion?: string };
}

function toRequest(line: string): AuditedRequest {
  const event = JSON.parse(line) as AuditEvent;
  const { user, verb, objectRef: { name = '' } = {}, responseStatus: { code = 0 } = {} } = event;
  return { user: user.username, verb, resource: resourceOf(event), name, code };
}

function resourceOf({ objectRef: { resource = '', subresource } = {} }: AuditEvent): string {
  return subresource === undefined ? resource : `${resource}/${subresource}`;
}

function isAcceptedWrite({ verb, responseStatus: { code = 0 } = {} }: AuditEvent): boolean {
  return WRITES.has(verb) && code >= 200 && code < 300;
}

/** The server left the very version that the write named. */
function changedNothing({ requestObject, responseObject }: AuditEvent): boolean {
  const named = requestObject?.metadata?.resourceVersion;
  return named !== undefined && named === responseObject?.metadata?.resourceVersion;
}

function toAcceptedWrite(event: AuditEvent): AcceptedWrite {
  const { objectRef: { namespace = '', name = '' } = {}, responseObject, userAgent = '' } = event;
  const version = responseObject?.metadata?.resourceVersion;
  return {
    object: `${resourceOf(event)} ${namespace}/${name}`,
    holderIdentity: /^driftless\/\S+ (\S+)$/.exec(userAgent)?.[1],
    receivedAt: Date.parse(event.requestReceivedTimestamp),
    completedAt: Date.parse(event.stageTimestamp),
    version: version === undefined ? undefined : Number(version),
  };
}
