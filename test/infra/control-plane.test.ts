import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { type ApiConnection, connect } from '../../infra/local/control-plane/api-connection.ts';
import { type ControlPlane, startControlPlane } from '../../infra/local/control-plane/control-plane.ts';
import { findBinaries } from '../../infra/local/control-plane/find-binaries.ts';
import { parseKubeconfig } from '../../infra/local/control-plane/kubeconfig.ts';
import { assertPortFree, freePorts } from '../../infra/local/ports.ts';
import { Supervisor } from '../../infra/local/supervisor/supervisor.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
import type { KubeObject } from '../../shared/kube/object.ts';
import { eventually } from './supervisor-processes.ts';

const { binaries } = await findBinaries({ environment: process.env });
const skip =
  binaries === undefined ? 'no control plane binaries here: set KUBEBUILDER_ASSETS, or run the demo once' : false;

describe('the local control plane', { skip }, () => {
  let supervisor: Supervisor;
  let cluster: ControlPlane;
  let api: ApiConnection;

  before(async () => {
    assert(binaries !== undefined);
    supervisor = new Supervisor();
    cluster = await startControlPlane({ supervisor, binaries });
    api = connect(parseKubeconfig(readFileSync(cluster.kubeconfig, 'utf8')));
  });
  after(async () => {
    await supervisor.stop();
    assert.equal(existsSync(supervisor.directory), false);
  });

  it('R60: answers kubectl with a version and a node that is ready', async (context) => {
    if (!(await isInstalled('kubectl'))) return context.skip('kubectl is not installed');
    assert.match(await kubectl('version'), /Server Version: v1\.36\./);
    assert.match(await kubectl('get', 'nodes', '--no-headers'), /^local +Ready /);
  });

  it('makes a Deployment available, and its Service have ready endpoints', async () => {
    await create('/apis/apps/v1/namespaces/default/deployments', deployment('web', 'nginx:1'));
    await create('/api/v1/namespaces/default/services', {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web' },
      spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
    });
    await eventually('the Deployment is available', async () => {
      const { status } = await get('/apis/apps/v1/namespaces/default/deployments/web');
      return (status as { readonly availableReplicas?: number }).availableReplicas === 3;
    });
    await eventually('three endpoints are ready', async () => {
      const { items } = await get('/apis/discovery.k8s.io/v1/namespaces/default/endpointslices');
      return readyAddresses(items).size === 3;
    });
  });

  it('completes a Job', async () => {
    const template = { spec: { restartPolicy: 'Never', containers: [{ name: 'main', image: 'busybox:1' }] } };
    await create('/apis/batch/v1/namespaces/default/jobs', {
      apiVersion: 'batch/v1',
      kind: 'Job',
      metadata: { name: 'backup' },
      spec: { template },
    });
    await eventually('the Job is complete', async () => {
      const { status } = await get('/apis/batch/v1/namespaces/default/jobs/backup');
      return (status as { readonly succeeded?: number }).succeeded === 1;
    });
  });

  it('gives an Ingress an address', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/default/ingresses';
    const backend = { service: { name: 'web', port: { number: 80 } } };
    await create(path, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'Ingress',
      metadata: { name: 'web' },
      spec: { defaultBackend: backend },
    });
    await eventually('it has the address', async () => {
      const { status } = await get(`${path}/web`);
      return JSON.stringify(status) === '{"loadBalancer":{"ingress":[{"ip":"127.0.0.1"}]}}';
    });
  });

  it('lets a rollout fail whose image cannot be pulled, until the image is changed', async () => {
    const path = '/apis/apps/v1/namespaces/default/deployments';
    await create(path, deployment('broken', 'registry.example/broken:2'));
    await eventually('its pods wait for the image', async () => {
      return JSON.stringify(await podsOf('broken')).split('"reason":"ImagePullBackOff"').length === 4;
    });
    await api.call({
      method: 'PATCH',
      path: `${path}/broken`,
      body: { spec: { template: { spec: { containers: [{ name: 'main', image: 'registry.example/fixed:3' }] } } } },
      contentType: 'application/strategic-merge-patch+json',
    });
    await eventually('the Deployment is available', async () => {
      const { status } = await get(`${path}/broken`);
      const { updatedReplicas, availableReplicas } = status as Record<string, number>;
      return updatedReplicas === 3 && availableReplicas === 3;
    });
  });

  it('removes the pods of a Deployment that is deleted', async () => {
    await create('/apis/apps/v1/namespaces/default/deployments', deployment('short', 'nginx:1'));
    await eventually('its pods are there', async () => (await podsOf('short')).length === 3);
    await api.call({ method: 'DELETE', path: '/apis/apps/v1/namespaces/default/deployments/short' });
    await eventually('its pods are gone', async () => (await podsOf('short')).length === 0);
  });

  it('R62: issues a kubeconfig that may do what its rules say, and nothing else', async () => {
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'list'] }];
    const path = await cluster.issueKubeconfig({
      name: 'driftless-reader',
      namespace: 'driftless-system',
      serviceAccount: 'reader',
      rules,
    });
    assert.equal(statSync(path).mode & 0o777, 0o600);

    const reader = connect(parseKubeconfig(readFileSync(path, 'utf8')));
    const list = await reader.call({ method: 'GET', path: '/api/v1/namespaces/kube-system/configmaps' });
    assert.equal(list.kind, 'ConfigMapList');
    await assert.rejects(reader.call({ method: 'GET', path: '/api/v1/namespaces/default/secrets' }), (thrown) => {
      assert(thrown instanceof ApiError);
      assert.equal(thrown.status.code, 403);
      assert.match(
        thrown.status.message,
        /"system:serviceaccount:driftless-system:reader" cannot list resource "secrets"/,
      );
      return true;
    });
  });

  it('writes down who asked for what, so that tests can count requests from outside', async () => {
    await assert.rejects(api.call({ method: 'GET', path: '/api/v1/namespaces/default/configmaps/counted' }));
    const seen = readFileSync(cluster.auditLog, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ objectRef }) => objectRef?.name === 'counted')
      .map(({ verb, user, responseStatus, level }) => [verb, user.username, responseStatus.code, level]);
    assert.deepEqual(seen, [['get', 'driftless-admin', 404, 'Metadata']]);
  });

  it('R75: goes on where it was when the API server is killed and started again', async () => {
    await supervisor.restart('kube-apiserver', 'SIGKILL');
    await create('/apis/apps/v1/namespaces/default/deployments', deployment('later', 'nginx:1'));
    await eventually(
      'the Deployment is available',
      async () => {
        const { status } = await get('/apis/apps/v1/namespaces/default/deployments/later');
        return (status as { readonly availableReplicas?: number }).availableReplicas === 3;
      },
      30_000,
    );
  });

  const create = (path: string, body: KubeObject) => api.call({ method: 'POST', path, body });
  const get = (path: string) => api.call({ method: 'GET', path });
  const podsOf = async (app: string): Promise<readonly unknown[]> => {
    const { items } = await get(`/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`);
    return items as readonly unknown[];
  };
  const kubectl = async (...args: readonly string[]): Promise<string> => {
    const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
    const { stdout } = await promisify(execFile)('kubectl', args, { env });
    return stdout;
  };
});

describe('ports', () => {
  it('are all different', async () => {
    assert.equal(new Set(await freePorts(20)).size, 20);
  });

  it('that are taken are named, with the setting that chose them', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await assert.rejects(assertPortFree(port, '--api-port'), {
      code: 'PORT_TAKEN',
      message: `port ${port} (chosen by --api-port) is taken: end the process that listens there, or choose another with --api-port`,
    });
    await new Promise((resolve) => server.close(resolve));
    await assertPortFree(port, '--api-port');
  });
});

function deployment(name: string, image: string): KubeObject {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image }] } };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name },
    spec: { replicas: 3, selector: { matchLabels: labels }, template },
  };
}

function readyAddresses(slices: unknown): ReadonlySet<string> {
  const endpoints = (slices as { endpoints: { addresses: string[]; conditions: { ready: boolean } }[] }[]).flatMap(
    (slice) => slice.endpoints ?? [],
  );
  return new Set(endpoints.filter(({ conditions }) => conditions.ready).flatMap(({ addresses }) => addresses));
}

async function isInstalled(command: string): Promise<boolean> {
  try {
    await promisify(execFile)('sh', ['-c', `command -v ${command}`]);
    return true;
  } catch {
    return false;
  }
}
