import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { findBinaries } from '../../infra/local/control-plane/find-binaries.ts';
import { Deployment } from '../../shared/kube/builtin.ts';
import { type Proving, SharedStack } from '../prove/shared-stack.ts';

const { binaries } = await findBinaries({ environment: process.env });
const skip = binaries === undefined && 'no control plane: neither KUBEBUILDER_ASSETS nor the cache has one';

const NAMES = ['one', 'two', 'three', 'four', 'five'];

describe('several instances of the reconcile function', { skip }, () => {
  const shared = new SharedStack({ instances: 2, environment: { DRIFTLESS_ACK_DEADLINE_SECONDS: '2' } });
  let proving: Proving;

  before(async () => {
    proving = await shared.get(() => undefined);
  });
  after(() => shared.close());

  it('are parts of their own, and share the work', async () => {
    const { stack, webApps, lines } = proving;
    assert.deepEqual(stack.reconcilers, ['reconcile-1', 'reconcile-2']);
    for (const name of NAMES) await webApps.apply(name);
    for (const name of NAMES) await webApps.untilReady(name);
    const worked = lines.filter(({ line }) => line.includes('run finished')).map(({ part }) => part);
    assert.deepEqual([...new Set(worked)].sort(), ['reconcile-1', 'reconcile-2']);
  });

  it('R22, R75: one is frozen for longer than its leases last, the other one is killed, and all comes right', async () => {
    const { stack, webApps } = proving;
    for (const name of NAMES) await webApps.apply(name, { host: `${name}.example.com` });
    stack.supervisor.kill('reconcile-1', 'SIGSTOP');
    for (const name of NAMES) await webApps.untilReady(name);

    for (const name of NAMES) await webApps.apply(name, { replicas: 2 });
    stack.supervisor.kill('reconcile-2', 'SIGKILL');
    stack.supervisor.kill('reconcile-1', 'SIGCONT');
    for (const name of NAMES) {
      await webApps.untilReady(name);
      assert.equal((await webApps.child(Deployment, name))?.spec?.replicas, 2);
    }
  });
});
