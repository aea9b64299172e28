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

  #lines(): readonly string[] {
    // The last line may still be being written.
    return readFileSync(this.#path, 'utf8').split('\n').slice(0, -1);
  }
}

interface AuditEvent {
  readonly user: { readonly username: string };
  readonly verb: string;
  readonly objectRef?: { readonly resource?: string; readonly subresource?: string; readonly name?: string };
  readonly responseStatus?: { readonly code?: number };
}

function toRequest(line: string): AuditedRequest {
  const { user, verb, objectRef = {}, responseStatus = {} } = JSON.parse(line) as AuditEvent;
  const { resource = '', subresource, name = '' } = objectRef;
  return {
    user: user.username,
    verb,
    resource: subresource === undefined ? resource : `${resource}/${subresource}`,
    name,
    code: responseStatus.code ?? 0,
  };
}
