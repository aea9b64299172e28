import type { Cluster } from '../../ports/cluster.ts';
import type { Guard } from '../../ports/guard.ts';
import type { MetadataSource } from '../../ports/metadata-source.ts';
import type { Random } from '../../ports/random.ts';
import { KubernetesCluster } from './cluster.ts';
import { type CredentialSource, loadCredentials } from './credentials.ts';
import { KubernetesFence } from './fence.ts';
import { KubernetesMetadataSource } from './metadata-source.ts';
import { createTransport } from './transport.ts';
import { KubernetesUser } from './user.ts';

export interface KubernetesOptions {
  readonly credentials: CredentialSource;
  /** Around every call, watches excepted. Its bulkhead must stay below 400 calls at once. */
  readonly guard: Guard;
  readonly random: Random;
  /** Strict mode: what is asked or written for a claim is sent as the functions' user, and the fence is kept. @default false */
  readonly strict?: boolean;
}

/** One cluster, over one set of connections. */
export interface Kubernetes {
  readonly cluster: Cluster;
  /** For people; see there. */
  readonly user: KubernetesUser;
  /** Strict mode's; only an administrator needs it apart from the cluster. */
  readonly fence: KubernetesFence;
  readonly metadata: MetadataSource;
  /** Loads libraries and credentials, so that the first call need not. @throws {ConfigError} */
  prepare(): Promise<void>;
  /** Waits for calls and watches in flight; abort their signals first. */
  close(): Promise<void>;
}

/** Connects lazily: nothing is read before `prepare` or the first call, and nothing sent before that. */
export function connectKubernetes({ credentials, guard, random, strict = false }: KubernetesOptions): Kubernetes {
  const loaded = loadCredentials(credentials);
  const transport = createTransport({ credentials: loaded, guard });
  const fence = new KubernetesFence(transport);
  return {
    cluster: new KubernetesCluster(transport, strict ? fence : undefined),
    user: new KubernetesUser(transport),
    fence,
    metadata: new KubernetesMetadataSource({ transport, random }),
    async prepare() {
      await loaded.current();
    },
    close: () => transport.close(),
  };
}
