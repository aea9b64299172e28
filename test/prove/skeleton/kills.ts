import { WebApp } from '../../../functions/controllers/webapp/kind.ts';
import type { KubernetesUser } from '../../../shared/adapters/kubernetes/user.ts';
import { Deployment, Service } from '../../../shared/kube/builtin.ts';
import { until } from '../../support/until.ts';
import type { Claim } from '../claim.ts';
import type { SharedStack } from '../shared-stack.ts';

const ROUNDS = 10;

export function killClaims(shared: SharedStack): readonly Claim[] {
  return [killFunction(shared), killForwarder(shared)];
}

/** Kills the function while it works: after the forwarder has rung, later and later in the run. */
function killFunction(shared: SharedStack): Claim {
  return {
    id: 'kill-function',
    text: 'kill -9 of the function during a run: after its restart the end state is right',
    floor: `${ROUNDS} of ${ROUNDS} right; a lease of 6 s, so within 10 s each`,
    async run({ say }) {
      const { stack, webApps, lines } = await shared.get(say);
      await webApps.apply('killed', { image: 'nginx:0' });
      await webApps.untilReady('killed');
      const took: number[] = [];
      for (let round = 1; round <= ROUNDS; round++) {
        const rung = count(lines, 'doorbell published', 'killed');
        const image = `nginx:${round}`;
        await webApps.apply('killed', { image, host: `round-${round}.example.com` });
        await until('the forwarder has rung', async () => count(lines, 'doorbell published', 'killed') > rung, {
          everyMs: 1,
        });
        const pushed = performance.now();
        // The push takes some 40 ms; the run some 20 ms. Sweep over both.
        await until('it is time', async () => performance.now() - pushed >= round * 10, { everyMs: 1 });
        stack.supervisor.kill('reconcile', 'SIGKILL');
        const killedAt = performance.now();
        await webApps.untilReady('killed');
        await until('the Deployment runs the new image', async () => {
          const deployment = await webApps.child(Deployment, 'killed');
          return deployment?.spec?.template.spec?.containers[0]?.image === image;
        });
        took.push(performance.now() - killedAt);
        say(`round ${round}: right ${Math.round(took.at(-1) ?? 0)} ms after the kill`);
      }
      const slowest = Math.max(...took) / 1000;
      return {
        measured: `${took.length} of ${ROUNDS} right, the slowest after ${slowest.toFixed(1)} s`,
        ok: slowest <= 10,
      };
    },
  };
}

/** Kills the forwarder, and does what it would have seen while it is away. */
function killForwarder(shared: SharedStack): Claim {
  return {
    id: 'kill-forwarder',
    text: 'kill -9 of the forwarder, and changes and deletions while it is away: after its restart the end state is right',
    floor: '5 of 5 right: object changed, child deleted, child edited, object created, object deleted',
    async run({ say }) {
      const { stack, webApps } = await shared.get(say);
      for (const name of ['changed', 'child-deleted', 'child-edited', 'object-deleted']) await webApps.apply(name);
      for (const name of ['changed', 'child-deleted', 'child-edited', 'object-deleted']) await webApps.untilReady(name);

      stack.supervisor.kill('forwarder', 'SIGKILL');
      const killedAt = performance.now();
      const replicas = async (name: string) => (await webApps.child(Deployment, name))?.spec?.replicas;
      await Promise.all([
        webApps.apply('changed', { replicas: 3 }),
        webApps.delete(Service, 'child-deleted'),
        scale(stack.admin.user, webApps.namespace, 'child-edited', 5),
        webApps.apply('created'),
        webApps.delete(WebApp, 'object-deleted'),
      ]);
      const away = performance.now() - killedAt;
      const right = [
        until('the change was carried out', async () => (await replicas('changed')) === 3),
        until('the Service is back', async () => (await webApps.child(Service, 'child-deleted')) !== undefined),
        until('the scale was undone', async () => (await replicas('child-edited')) === 1),
        webApps.untilReady('created'),
        until('the children are gone', async () => (await webApps.child(Deployment, 'object-deleted')) === undefined),
      ];
      await Promise.all(right);
      const seconds = ((performance.now() - killedAt) / 1000).toFixed(1);
      say(`the changes were made within ${Math.round(away)} ms of the kill`);
      return { measured: `${right.length} of 5 right, ${seconds} s after the kill`, ok: true };
    },
  };
}

async function scale(user: KubernetesUser, namespace: string, name: string, replicas: number): Promise<void> {
  const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { namespace, name }, spec: { replicas } };
  await user.apply(Deployment, object as never, {
    fieldManager: 'kubectl-scale',
    force: true,
    signal: new AbortController().signal,
  });
}

function count(lines: readonly { readonly line: string }[], message: string, name: string): number {
  return lines.filter(({ line }) => line.includes(message) && line.includes(`"${name}"`)).length;
}
