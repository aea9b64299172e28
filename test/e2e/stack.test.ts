import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WebApp } from '../../functions/controllers/webapp/kind.ts';
import { findBinaries } from '../../infra/local/control-plane/find-binaries.ts';
import { Deployment, Ingress, Service } from '../../shared/kube/builtin.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import { type Proving, SharedStack } from '../prove/shared-stack.ts';
import { kubectl } from '../support/kubectl.ts';
import { until } from '../support/until.ts';

const { binaries } = await findBinaries({ environment: process.env });
const skip = binaries === undefined && 'no control plane: neither KUBEBUILDER_ASSETS nor the cache has one';

const CHILDREN: readonly Kind[] = [Deployment, Service, Ingress];

describe('Driftless on real parts', { skip }, () => {
  const shared = new SharedStack();
  let proving: Proving;

  before(async () => {
    proving = await shared.get(() => undefined);
  });
  after(() => shared.close());

  it('R50: a WebApp gets a Deployment, a Service and an Ingress, and kubectl wait sees it Ready', async () => {
    const { webApps, stack } = proving;
    await webApps.apply('shop', { replicas: 2, host: 'shop.example.com' });
    const { kubeconfig } = stack.controlPlane;
    const wait = await kubectl(kubeconfig, ['wait', '--for=condition=Ready', 'webapp/shop', '--timeout=60s']);
    assert.equal(wait.code, 0, wait.stderr);
    assert.equal((await webApps.child(Deployment, 'shop'))?.status?.availableReplicas, 2);
    assert.notEqual(await webApps.child(Service, 'shop'), undefined);
    assert.equal((await webApps.child(Ingress, 'shop'))?.spec?.rules?.[0]?.host, 'shop.example.com');
  });

  it('a host that is taken out of the spec takes the Ingress away', async () => {
    const { webApps } = proving;
    await webApps.apply('plain', { host: 'plain.example.com' });
    await webApps.untilReady('plain');
    await webApps.apply('plain');
    await until('the Ingress is gone', async () => (await webApps.child(Ingress, 'plain')) === undefined);
    await until(
      'the status has the new address',
      async () => (await webApps.get('plain'))?.status?.url === 'http://plain.default.svc',
    );
  });

  it('R9: what a person does to a child is undone', async () => {
    const { webApps, stack } = proving;
    await webApps.apply('drift', { replicas: 1 });
    await webApps.untilReady('drift');
    await kubectl(stack.controlPlane.kubeconfig, ['scale', 'deployment', 'drift', '--replicas=4']);
    await until('the scale is undone', async () => (await webApps.child(Deployment, 'drift'))?.spec?.replicas === 1);
    await kubectl(stack.controlPlane.kubeconfig, ['delete', 'service', 'drift']);
    await until('the Service is back', async () => (await webApps.child(Service, 'drift')) !== undefined);
  });

  it('R62: forwarder and functions were refused nothing, and wrote nothing but WebApp status and children', async () => {
    const { audit } = proving;
    const ours = audit.ours();
    assert.deepEqual(
      ours.filter(({ code }) => code === 401 || code === 403),
      [],
    );
    const written = new Set(audit.ourWrites().map(({ verb, resource }) => `${verb} ${resource}`));
    const allowed = ['deployments', 'services', 'ingresses'].flatMap((r) => [`patch ${r}`, `delete ${r}`]);
    for (const write of written) assert.ok([...allowed, 'patch webapps/status'].includes(write), write);
  });

  it('R22: a function that is killed is replaced, and the change it worked on is carried out', async () => {
    const { webApps, stack } = proving;
    await webApps.apply('victim', { replicas: 1 });
    stack.supervisor.kill('reconcile', 'SIGKILL');
    await webApps.apply('victim', { replicas: 2 });
    await webApps.untilReady('victim');
    assert.equal((await webApps.child(Deployment, 'victim'))?.spec?.replicas, 2);
  });

  it('R20: what was deleted while the forwarder was dead is made again', async () => {
    const { webApps, stack } = proving;
    await webApps.apply('orphaned');
    await webApps.untilReady('orphaned');
    stack.supervisor.kill('forwarder', 'SIGKILL');
    await webApps.delete(Service, 'orphaned');
    await until('the Service is back', async () => (await webApps.child(Service, 'orphaned')) !== undefined);
  });

  it('a deleted WebApp leaves nothing behind, neither children nor a work item', async () => {
    const { webApps, lines } = proving;
    await webApps.apply('leaving', { host: 'leaving.example.com' });
    await webApps.untilReady('leaving');
    await webApps.delete(WebApp, 'leaving');
    await until('the children are gone', async () => {
      const children = await Promise.all(CHILDREN.map((kind) => webApps.child(kind, 'leaving')));
      return children.every((child) => child === undefined);
    });
    await until('the item is forgotten', async () =>
      lines.some(({ line }) => line.includes('"leaving"') && line.includes('"next":"gone"')),
    );
  });
});
