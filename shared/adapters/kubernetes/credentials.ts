import type { RequestOptions } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { KubeConfig } from '@kubernetes/client-node';
import { ConfigError, messageOf, TransientError } from '../../errors.ts';

/** Where the API server is, and what proves who we are. */
export interface Access {
  /** Scheme, host and port: `https://10.0.0.1:6443`. */
  readonly origin: string;
  /** What stands before every path; usually empty. */
  readonly basePath: string;
  /** `Authorization`, `Impersonate-User`. Never logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: TlsMaterial;
}

/** What a TLS connection is made of; the names are those of `node:tls`. */
export interface TlsMaterial {
  readonly ca: string | undefined;
  readonly cert: string | undefined;
  readonly key: string | undefined;
  readonly servername: string | undefined;
  readonly rejectUnauthorized: boolean;
}

/** Gives access, and renews it: tokens are short-lived, certificates are rotated. */
export interface Credentials {
  /** The access to use for the next request. */
  current(): Promise<Access>;
  /** Another access than the `refused` one, read anew past every cache (once for many callers), or the same again. */
  renewed(refused: Access): Promise<Access>;
}

export type CredentialSource =
  /** A kubeconfig file with any authentication that client-node knows: token, certificate, exec plugin, OIDC. */
  | { readonly kind: 'kubeconfig'; readonly path: string; readonly context?: string }
  /** The service account of the pod that this runs in. */
  | { readonly kind: 'inCluster' };

/** Files are looked at again after this time, not for each request: client-node reads them synchronously. */
const REREAD_AFTER_MS = 10_000;

/**
 * Credentials by way of client-node's `KubeConfig`.
 *
 * client-node is loaded on first use: importing it takes longer than all the rest of a cold start.
 *
 * Errors, when asked for access: `ConfigError` when the source cannot be read or used; `TransientError`
 * `CREDENTIALS_UNAVAILABLE` when a file is missing, or a plugin failed.
 */
export function loadCredentials(source: CredentialSource): Credentials {
  return new KubeConfigCredentials(source);
}

class KubeConfigCredentials implements Credentials {
  readonly #source: CredentialSource;
  #config: Promise<KubeConfig> | undefined;
  #access: Promise<Access> | undefined;
  #readAt = 0;

  constructor(source: CredentialSource) {
    this.#source = source;
  }

  async current(): Promise<Access> {
    if (this.#access === undefined || performance.now() - this.#readAt > REREAD_AFTER_MS) return await this.#read();
    return await this.#access;
  }

  async renewed(refused: Access): Promise<Access> {
    const asked = this.#access;
    const known = await asked;
    if (known !== undefined && !isDeepStrictEqual(known, refused)) return known;
    // Somebody else who was refused has begun to read meanwhile.
    if (this.#access !== undefined && this.#access !== asked) return await this.#access;
    // A new KubeConfig: the old one holds a token file's content for a minute, and an exec plugin's token until it expires.
    this.#config = undefined;
    return await this.#read();
  }

  #read(): Promise<Access> {
    this.#config ??= loadConfig(this.#source);
    this.#readAt = performance.now();
    const access = this.#config.then(accessOf);
    this.#access = access;
    access.catch(() => {
      this.#config = undefined;
      if (this.#access === access) this.#access = undefined;
    });
    return access;
  }
}

async function loadConfig(source: CredentialSource): Promise<KubeConfig> {
  const { KubeConfig } = await import('@kubernetes/client-node');
  const config = new KubeConfig();
  switch (source.kind) {
    case 'kubeconfig':
      try {
        config.loadFromFile(source.path);
      } catch (error) {
        throw new ConfigError(`kubeconfig ${source.path}`, [messageOf(error)]);
      }
      if (source.context !== undefined) config.setCurrentContext(source.context);
      return config;
    case 'inCluster':
      config.loadFromCluster();
      return config;
  }
}

async function accessOf(config: KubeConfig): Promise<Access> {
  const cluster = config.getCurrentCluster();
  const problems = [
    ...(cluster === null ? ['the current context names no cluster'] : []),
    // Without a user client-node would leave out the CA as well, and fail with a puzzling TLS error.
    ...(config.getCurrentUser() === null ? ['the current context names no user'] : []),
    ...(cluster?.proxyUrl ? ['proxy-url is not supported'] : []),
  ];
  if (cluster === null || problems.length > 0) throw new ConfigError('kubeconfig', problems);

  const options: RequestOptions = {};
  try {
    await config.applyToHTTPSOptions(options);
  } catch (cause) {
    throw new TransientError('CREDENTIALS_UNAVAILABLE', `cannot get credentials: ${messageOf(cause)}`, { cause });
  }
  const { origin, pathname } = new URL(cluster.server);
  return {
    origin,
    basePath: pathname.replace(/\/$/, ''),
    headers: headersOf(options),
    tls: {
      ca: options.ca?.toString(),
      cert: options.cert?.toString(),
      key: options.key?.toString(),
      servername: options.servername,
      rejectUnauthorized: options.rejectUnauthorized ?? true,
    },
  };
}

function headersOf({ headers, auth }: RequestOptions): Record<string, string> {
  const basic = auth ? { Authorization: `Basic ${Buffer.from(auth).toString('base64')}` } : {};
  // A token from a file ends with a line break more often than not.
  const given = Object.entries(headers ?? {}).map(([name, value]) => [name, String(value).trim()]);
  return { ...basic, ...Object.fromEntries(given) };
}
