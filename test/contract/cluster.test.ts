import { MemoryCluster, mergePatched } from '../../shared/adapters/memory/cluster.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject } from '../../shared/kube/object.ts';
import { NO_API_SERVER, openApiServer } from './cluster-api-server.ts';
import { clusterContract, type Gizmo } from './cluster-contract.ts';

const ServiceAccount: Kind = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
};

clusterContract('memory', async () => {
  const cluster = new MemoryCluster();
  const kind: Kind<Gizmo> = {
    group: 'test.driftless.dev',
    version: 'v1',
    kind: 'Gizmo',
    plural: 'gizmos',
    namespaced: true,
  };
  let namespaces = 0;
  return {
    cluster,
    kind,
    namespace: async () => `ns-${++namespaces}`,
    edit: async (edited, key, manager, patch) => {
      cluster.edit(edited, key, manager, (object) => mergePatched(object, patch) as KubeObject);
    },
    close: async () => {},
  };
});

clusterContract(
  'API server',
  async () => {
    const server = await openApiServer();
    // The controller manager makes this account; without one nothing collects garbage either.
    const account = { namespace: 'default', name: 'default' };
    const managed = await server.user.get(ServiceAccount, account, AbortSignal.timeout(10_000));
    return {
      cluster: server.cluster,
      kind: server.gizmos,
      ...(managed === undefined ? { noGarbageCollection: 'no controller manager runs' } : {}),
      namespace: () => server.namespace(),
      edit: (kind, key, manager, patch) => server.patch(kind, key, manager, patch),
      close: () => server.close(),
    };
  },
  NO_API_SERVER,
);
