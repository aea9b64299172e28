import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
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
      source: server.metadata,
      cluster: server.cluster,
      kind: server.gizmos,
      namespace: () => server.namespace(),
      close: () => server.close(),
    };
  },
  NO_API_SERVER,
);

describe('a kind that an API server does not know', () => {
  it('is not found, by lists and by watches', { skip: NO_API_SERVER ?? false }, async (t) => {
    const server = await openApiServer();
    t.after(() => server.close());
    const absent = { ...server.gizmos, kind: 'Gadget', plural: 'gadgets' };
    const signal = AbortSignal.timeout(20_000);
    const isNotFound = (error: unknown) => error instanceof ApiError && error.status.code === 404;
    await assert.rejects(server.metadata.list(absent, signal), isNotFound);
    await assert.rejects(
      server.metadata.watch(absent, { from: 'list' }, signal)[Symbol.asyncIterator]().next(),
      isNotFound,
    );
  });
});
