import { CustomResourceDefinition } from '../../infra/local/crds.ts';
import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { connectKubernetes } from '../../shared/adapters/kubernetes/connect.ts';
import { loadCredentials } from '../../shared/adapters/kubernetes/credentials.ts';
import { objectPath } from '../../shared/adapters/kubernetes/paths.ts';
import { createTransport, type Transport } from '../../shared/adapters/kubernetes/transport.ts';
import type { KubernetesUser } from '../../shared/adapters/kubernetes/user.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { formatRef, type ObjectKey } from '../../shared/kube/key.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject } from '../../shared/kube/object.ts';
import type { Cluster } from '../../shared/ports/cluster.ts';
import type { MetadataSource } from '../../shared/ports/metadata-source.ts';
import type { Gizmo } from './cluster-contract.ts';

/** Names the kubeconfig of an administrator of a cluster that tests may litter. */
export const KUBECONFIG = process.env['DRIFTLESS_TEST_KUBECONFIG'];

export const NO_API_SERVER: string | undefined =
  KUBECONFIG === undefined ? 'no API server: DRIFTLESS_TEST_KUBECONFIG is not set' : undefined;

/** A real API server, with a kind and namespaces of this process's own. */
export interface ApiServer {
  readonly cluster: Cluster;
  readonly user: KubernetesUser;
  readonly metadata: MetadataSource;
  readonly gizmos: Kind<Gizmo>;
  namespace(): Promise<string>;
  /** A merge patch as another client sends it. */
  patch(kind: Kind, key: ObjectKey, manager: string, patch: Readonly<Record<string, unknown>>): Promise<void>;
  /** Also deletes what was made; namespaces go without waiting for their end. */
  close(): Promise<void>;
}

const Namespace: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

export async function openApiServer(): Promise<ApiServer> {
  const source = { kind: 'kubeconfig', path: KUBECONFIG ?? '' } as const;
  const guard = createGuard({ name: 'API server', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 1_000 } });
  const random = new SystemRandom();
  const { cluster, user, metadata, close } = connectKubernetes({ credentials: source, guard, random });
  /** What other clients do, over connections of its own. */
  const others = createTransport({ credentials: loadCredentials(source), guard });
  const suffix = random.id().slice(0, 8);
  const made: { readonly kind: Kind; readonly name: string }[] = [];
  const signal = () => AbortSignal.timeout(20_000);

  const make = async (kind: Kind, object: KubeObject) => {
    await user.apply(kind, object, { fieldManager: 'contract-fixture', signal: signal() });
    made.push({ kind, name: object.metadata.name });
  };

  const gizmos: Kind<Gizmo> = {
    group: `c${suffix}.driftless.dev`,
    version: 'v1',
    kind: 'Gizmo',
    plural: 'gizmos',
    namespaced: true,
  };
  await make(CustomResourceDefinition, crdOf(gizmos));
  await served(others, gizmos, signal());

  return {
    cluster,
    user,
    metadata,
    gizmos,
    async namespace() {
      const name = `contract-${suffix}-${made.length}`;
      await make(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
      return name;
    },
    async patch(kind, key, manager, patch) {
      await others.call(
        {
          method: 'PATCH',
          path: objectPath(kind, key, 'status' in patch ? 'status' : undefined),
          query: { fieldManager: manager },
          contentType: 'application/merge-patch+json',
          body: JSON.stringify(patch),
          what: `patch ${formatRef({ ...kind, ...key })}`,
        },
        signal(),
      );
    },
    async close() {
      for (const { kind, name } of made) {
        await user.delete(kind, { namespace: '', name }, signal());
      }
      await Promise.all([close(), others.close()]);
    },
  };
}

/** A new kind is answered with 404, then 429, before it is served. */
async function served(transport: Transport, kind: Kind, signal: AbortSignal): Promise<void> {
  const path = `/apis/${kind.group}/${kind.version}/${kind.plural}`;
  for (;;) {
    try {
      await transport.call({ method: 'GET', path, what: 'wait for the kind' }, signal);
      return;
    } catch {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

function crdOf({ group, kind, plural, version }: Kind): KubeObject {
  const text = { type: 'string' };
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: { type: 'object', properties: { size: { type: 'integer' }, color: text, note: text } },
                status: { type: 'object', properties: { phase: text, other: text } },
              },
            },
          },
        },
      ],
    },
  };
}
