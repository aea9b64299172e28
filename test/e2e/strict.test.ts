import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findBinaries } from '../../infra/local/control-plane/find-binaries.ts';
import { Deployment, Service } from '../../shared/kube/builtin.ts';
import { FENCED_USER } from '../../shared/kube/fence.ts';
import { type Proving, SharedStack } from '../prove/shared-stack.ts';
import { kubectl } from '../support/kubectl.ts';
import { until } from '../support/until.ts';

const { binaries } = await findBinaries({ environment: process.env });
const skip = binaries === undefined && 'no control plane: neither KUBEBUILDER_ASSETS nor the cache has one';

describe('strict mode on real parts', { skip }, () => {
  const shared = new SharedStack({ strict: true });
  let proving: Proving;

  before(async () => {
    proving = await shared.get(() => undefined);
  });
  after(() => shared.close());

  it('R22: makes and repairs what a WebApp asks for, and the function’s own account could not', async () => {
    const { webApps, stack, audit } = proving;
    await webApps.apply('shop', { replicas: 2, host: 'shop.example.com' });
    await webApps.untilReady('shop');
    await webApps.delete(Service, 'shop');
    await until('the Service is back', async () => (await webApps.child(Service, 'shop')) !== undefined);

    const { kubeconfig } = stack.controlPlane;
    const can = async (user: string) =>
      (await kubectl(kubeconfig, ['auth', 'can-i', 'create', 'deployments', `--as=${user}`])).stdout.trim();
    const account = 'system:serviceaccount:driftless-system:driftless-functions';
    assert.deepEqual([await can(account), await can(FENCED_USER)], ['no', 'yes']);
    const refused = audit.ourWrites().filter(({ code }) => code === 403);
    assert.deepEqual(refused, []);
  });

  it('R22: a killed function is replaced, and its holder stands on the fence', async () => {
    const { webApps, stack } = proving;
    await webApps.apply('victim');
    await webApps.untilReady('victim');
    const fenced = async (): Promise<number> => {
      const map = ['get', 'configmap', 'driftless-fence', '-n', 'driftless-system', '-o', 'jsonpath={.data}'];
      const { stdout } = await kubectl(stack.controlPlane.kubeconfig, map);
      return Object.keys(JSON.parse(stdout || '{}') as object).length;
    };
    assert.equal(await fenced(), 0);
    // Again and again, until one kill hits a run.
    for (let round = 1; (await fenced()) === 0; round++) {
      assert.ok(round < 50, 'no kill hit a run');
      await webApps.apply('victim', { image: `nginx:${round}` });
      const replaced = async () =>
        (await webApps.child(Deployment, 'victim'))?.spec?.template.spec?.containers[0]?.image === `nginx:${round}`;
      await until('a run is under way', replaced, { everyMs: 1 });
      stack.supervisor.kill('reconcile', 'SIGKILL');
      await webApps.untilReady('victim');
    }
  });
});
