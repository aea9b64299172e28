import { KubernetesMetadataSource } from '../../shared/adapters/kubernetes/metadata-source.ts';
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { NO_API_SERVER, openApiServer } from './cluster-api-server.ts';
import { metadataSourceContract } from './metadata-source-contract.ts';

metadataSourceContract('memory', async () => {
  const cluster = new MemoryCluster();
  return {
    source: cluster,
    cluster,
    kind: { group: 'test.driftless.dev', version: 'v1', kind: 'Gizmo', plural: 'gizmos', namespaced: true },
    namespace: async () => 'default',
    close: async () => {},
  };
});

metadataSourceContract(
  'API server',
  async () => {
    const server = await openApiServer();
    return {
      source: new KubernetesMetadataSource({ transport: server.transport, random: new SystemRandom() }),
      cluster: server.cluster,
      kind: server.gizmos,
      absent: { ...server.gizmos, plural: 'gadgets', kind: 'Gadget' },
      namespace: () => server.namespace(),
      close: () => server.close(),
    };
  },
  NO_API_SERVER,
);
