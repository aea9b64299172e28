import { kubectl } from '../../support/kubectl.ts';
import { until } from '../../support/until.ts';
import type { Claim } from '../claim.ts';
import type { SharedStack } from '../shared-stack.ts';

const NAME = 'calm';
const FUNCTIONS = 'system:serviceaccount:driftless-system:driftless-functions';

/**
 * Rings an object whose status is right in all the ways there are, and counts in the API server's audit log what that
 * costs: news of the object (an annotation), and a forwarder that starts anew and knows nothing.
 */
export function costClaim(shared: SharedStack): Claim {
  return {
    id: 'no-write',
    text: 'An object whose status is right costs no write at all, and one that nobody touched no request',
    floor: '0 writes after 5 changes that concern nobody; 0 requests of the functions after a restart of the forwarder',
    async run({ say }) {
      const { stack, webApps, audit, lines } = await shared.get(say);
      await webApps.apply(NAME, { host: 'calm.example.com' });
      await webApps.untilReady(NAME);
      await quiet(lines);

      audit.mark();
      for (let i = 0; i < 5; i++) {
        const before = runsOf(lines);
        await kubectl(stack.controlPlane.kubeconfig, ['annotate', 'webapp', NAME, `note=${i}`, '--overwrite']);
        await until('a run looked at it', async () => runsOf(lines) > before);
      }
      await quiet(lines);
      const writes = audit.ourWrites();
      const reads = audit.ours().filter(({ user, verb }) => user === FUNCTIONS && verb === 'get').length;

      audit.mark();
      const answered = lines.length;
      await stack.supervisor.restart('forwarder');
      await until('the relist was answered', async () =>
        lines.slice(answered).some(({ line }) => line.includes('doorbell answered') && line.includes(`"${NAME}"`)),
      );
      await quiet(lines);
      const afterRestart = audit.ours().filter(({ user }) => user === FUNCTIONS);
      const measured = `${writes.length} writes (and ${reads} reads); ${afterRestart.length} requests after the restart`;
      return { measured, ok: writes.length === 0 && reads >= 5 && afterRestart.length === 0 };
    },
  };
}

function runsOf(lines: readonly { readonly line: string }[]): number {
  return lines.filter(({ line }) => line.includes('"run finished"') && line.includes(`"${NAME}"`)).length;
}

/** Resolves when no part has said anything for a while: nothing is under way any more. */
async function quiet(lines: readonly unknown[]): Promise<void> {
  let seen = -1;
  await until(
    'everything is quiet',
    async () => {
      const before = seen;
      seen = lines.length;
      return before === seen;
    },
    { everyMs: 1_000 },
  );
}
