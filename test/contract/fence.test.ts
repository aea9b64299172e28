import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { installFence } from '../../infra/local/fence.ts';
import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { connectKubernetes, type Kubernetes } from '../../shared/adapters/kubernetes/connect.ts';
import { loadCredentials } from '../../shared/adapters/kubernetes/credentials.ts';
import { KubernetesFence } from '../../shared/adapters/kubernetes/fence.ts';
import { createTransport, type Transport } from '../../shared/adapters/kubernetes/transport.ts';
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
import { ConfigMap } from '../../shared/kube/builtin.ts';
import { FENCE, FENCED_USER } from '../../shared/kube/fence.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import { type Controller, defineController, plan } from '../../shared/reconcile/controller.ts';
import { type ApiServer, KUBECONFIG, NO_API_SERVER, openApiServer } from './cluster-api-server.ts';
import type { Gizmo } from './cluster-contract.ts';
import { fenceContract } from './fence-contract.ts';

fenceContract('memory', async () => {
  let namespaces = 0;
  const kind: Kind<Gizmo> = { group: 'test.dev', version: 'v1', kind: 'Gizmo', plural: 'gizmos', namespaced: true };
  return {
    cluster: new MemoryCluster({ strict: true }),
    kind,
    namespace: async () => `ns-${++namespaces}`,
    close: async () => {},
  };
});

const SOURCE = { kind: 'kubeconfig', path: KUBECONFIG ?? '' } as const;
const GUARD = createGuard({ name: 'API server', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 1_000 } });
const signal = () => AbortSignal.timeout(20_000);

interface Fenced {
  readonly server: ApiServer;
  readonly strict: Kubernetes;
  readonly gizmo: Controller;
}

let fenced: Promise<Fenced> | undefined;

/** One for all tests: there is one policy in a cluster, and it is about one list of controllers. */
function openFenced(): Promise<Fenced> {
  fenced ??= open();
  return fenced;
}

async function open(): Promise<Fenced> {
  const server = await openApiServer();
  const strict = connectKubernetes({ credentials: SOURCE, guard: GUARD, random: new SystemRandom(), strict: true });
  // Its object and its child are of one kind: it may do all with it.
  const gizmo = defineController({ kind: server.gizmos, owns: [server.gizmos], plan: () => plan({}) });
  await installFence({ user: server.user, fence: strict.fence }, [gizmo], signal());
  return { server, strict, gizmo };
}

after(async () => {
  const opened = await fenced;
  await Promise.all([opened?.server.close(), opened?.strict.close()]);
});

fenceContract(
  'API server',
  async () => {
    const { server, strict } = await openFenced();
    return {
      cluster: strict.cluster,
      kind: server.gizmos,
      namespace: () => server.namespace(),
      close: async () => undefined,
    };
  },
  NO_API_SERVER,
);

describe('the fence of the API server', { skip: NO_API_SERVER ?? false }, () => {
  let server: ApiServer;
  let strict: Kubernetes;
  let gizmo: Controller;
  let transport: Transport;
  before(async () => {
    ({ server, strict, gizmo } = await openFenced());
    transport = createTransport({ credentials: loadCredentials(SOURCE), guard: GUARD });
  });
  after(async () => {
    await transport?.close();
  });
  const entries = async () => Object.keys((await server.user.get(ConfigMap, FENCE, signal()))?.data ?? {});

  it('R22: a write of the functions that does not say whose it is is refused, so that nobody can forget', async () => {
    const { group, version, plural } = server.gizmos;
    const namespace = await server.namespace();
    const body = JSON.stringify({ apiVersion: `${group}/${version}`, kind: 'Gizmo', metadata: { name: 'g' } });
    const request = {
      method: 'POST',
      path: `/apis/${group}/${version}/namespaces/${namespace}/${plural}`,
      contentType: 'application/json',
      body,
      what: 'create without a holder',
    } as const;
    const asWorker = { ...request, headers: { 'impersonate-user': FENCED_USER } };
    const refused = await transport.call(asWorker, signal()).catch((error: unknown) => error);
    assert.ok(refused instanceof ApiError);
    assert.match(refused.message, /403 Forbidden .*'driftless-fence'.* a write of the functions names its holder/);
    await transport.call(request, signal());
  });

  it('forgets the oldest when there are more than five hundred', async () => {
    const holders = (age: string, count: number) => Array.from({ length: count }, (_, i) => `${age}.${i}`);
    const ofAge = async (age: string) => (await entries()).filter((name) => name.startsWith(`${age}.`)).length;
    await strict.fence.add(holders('old', 350), signal());
    await strict.fence.add(holders('new', 350), signal());
    assert.deepEqual([await ofAge('new'), (await entries()).length], [350, 400]);
  });

  it('takes thieves of many instances at once, and forgets none', async () => {
    const fences = Array.from({ length: 8 }, () => new KubernetesFence(transport));
    const names = fences.map((_, i) => `rev.instance-${i}.${process.pid}`);
    await Promise.all(fences.map((fence, i) => fence.add([names[i] ?? ''], signal())));
    const left = await entries();
    assert.deepEqual(
      names.filter((name) => !left.includes(name)),
      [],
    );
  });

  it('is applied again without letting anybody in', async () => {
    const holder = `rev.kept.${process.pid}`;
    await strict.fence.add([holder], signal());
    await installFence({ user: server.user, fence: strict.fence }, [gizmo], signal());
    assert.ok((await entries()).includes(holder));
  });
});
