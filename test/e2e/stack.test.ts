import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { WebApp } from '../../functions/controllers/webapp/kind.ts';
import { findBinaries } from '../../infra/local/control-plane/find-binaries.ts';
import { Deployment, Ingress, Service } from '../../shared/kube/builtin.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import { type Proving, SharedStack } from '../prove/shared-stack.ts';
import { Command } from '../support/command.ts';
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

  /** A command as a person gives it in another terminal. */
  async function driftless(args: string): Promise<{ readonly code: number; readonly output: string }> {
    const script = `. '${proving.stack.envFile}' && exec '${process.execPath}' infra/cli/main.ts ${args}`;
    const command = new Command('/bin/sh', ['-c', script]);
    const code = await command.ended;
    command.forget();
    return { code, output: command.output };
  }

  it('R13, R64: explain says why an object does not run, and redrive runs it once that is mended', async () => {
    const { webApps, stack } = proving;
    const { kubeconfig } = stack.controlPlane;
    await kubectl(kubeconfig, ['create', 'service', 'clusterip', 'blocked', '--tcp=80']);
    await webApps.apply('blocked');
    const failures = async (): Promise<number> => {
      const { code, output } = await driftless('explain webapp default/blocked --json');
      return code === 0 ? (JSON.parse(output) as { item: { failures: number } }).item.failures : 0;
    };
    // From then on it waits for five seconds and more.
    await until('it fails again and again', async () => (await failures()) >= 11, { everyMs: 500 });
    const why = await driftless('explain webapp default/blocked');
    assert.equal(why.code, 0, why.output);
    assert.match(why.output, /^WebApp\.apps\.driftless\.dev default\/blocked \(cluster local, controller webapp\)$/m);
    assert.match(why.output, /^ {2}last error +CHILD_NOT_OWNED: .*Service default\/blocked/m);
    assert.match(why.output, /^ {2}\S+Z {2}CHILD_NOT_OWNED in \d+ ms, because of alarm$/m);

    await webApps.delete(Service, 'blocked');
    const redriven = await driftless('redrive default/blocked');
    assert.equal(redriven.code, 0, redriven.output);
    assert.match(redriven.output, /WebApp\.apps\.driftless\.dev default\/blocked: (released from backoff|it is being)/);
    await webApps.untilReady('blocked');
    const ready = await driftless('explain webapps default/blocked');
    assert.match(ready.output, /It is at rest\. It runs again when it or one of its children changes\./);
  });

  it('R64: explain and redrive say which object they do not know, and exit with 1', async () => {
    for (const command of ['explain webapp default/nobody', 'redrive default/nobody']) {
      const { code, output } = await driftless(command);
      assert.equal(code, 1);
      assert.match(
        output,
        /error UNKNOWN_OBJECT: there is no work item of local\/webapp WebApp\.apps\.driftless\.dev default\/nobody/,
      );
    }
    assert.equal((await driftless('explain gadget default/nobody')).code, 2);
  });
});
