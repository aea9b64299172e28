import { resolveBinaries } from '../../../infra/local/control-plane/binaries.ts';
import { startControlPlane } from '../../../infra/local/control-plane/control-plane.ts';
import { installCrds } from '../../../infra/local/crds.ts';
import { installFence } from '../../../infra/local/fence.ts';
import { Supervisor } from '../../../infra/local/supervisor/supervisor.ts';
import { createGuard } from '../../../shared/adapters/cockatiel/guard.ts';
import { connectKubernetes, type Kubernetes } from '../../../shared/adapters/kubernetes/connect.ts';
import { SystemRandom } from '../../../shared/adapters/system/random.ts';
import { FENCE } from '../../../shared/kube/fence.ts';
import { FUNCTIONS_ACCOUNT } from '../../../shared/reconcile/fence-objects.ts';
import { functionRules } from '../../../shared/reconcile/permissions.ts';
import type { Claim } from '../claim.ts';
import { LateWorld, type LateWrite, lateController, WRITES } from './late-world.ts';

/** Late writes in each mode. */
const COUNT = Number(process.env['DRIFTLESS_LATE_WRITES'] ?? 10_000);
const LANES = 5;
/** How long after the steal a late write may be accepted yet in strict mode. */
const FLOOR_MS = 50;

/** Holders that overslept go on as if nothing had happened, up to 100 ms after their lease was stolen by a real run. */
export function lateWritesClaim(): Claim {
  return {
    id: 'late-writes',
    text: `${COUNT.toLocaleString('en')} late writes: none overwrites a newer one; strict mode refuses them all ${FLOOR_MS} ms after the steal`,
    floor: `plain and strict: 0 overwrite a newer write, 0 children stay; strict: none accepted later than ${FLOOR_MS} ms after the steal`,
    async run({ say, signal }) {
      const supervisor = new Supervisor();
      try {
        const { admin, plain, strict } = await start(supervisor, say, signal);
        try {
          const plainly = await sendAll(plain, admin, signal);
          say(told('plain', plainly));
          const strictly = await sendAll(strict, admin, signal);
          say(told('strict', strictly));
          const both = [plainly, strictly];
          const ok =
            both.every((tally) => tally.overwritten === 0 && tally.orphans === 0) && strictly.latestMs <= FLOOR_MS;
          return { measured: both.map((tally, i) => told(i === 0 ? 'plain' : 'strict', tally)).join('; '), ok };
        } finally {
          await Promise.all([admin.close(), plain.close(), strict.close()]);
        }
      } finally {
        await supervisor.stop();
      }
    },
  };
}

interface Tally {
  readonly writes: readonly LateWrite[];
  /** Accepted late writes that stood in the end, where the thief had written something newer. */
  readonly overwritten: number;
  /** Children that nobody wanted any more and that were there again when the thief had ended; removed by the next run. */
  readonly broughtBack: number;
  readonly orphans: number;
  /** The latest that was accepted. Milliseconds after the steal. */
  readonly latestMs: number;
}

async function sendAll({ cluster }: Kubernetes, { user }: Kubernetes, signal: AbortSignal): Promise<Tally> {
  const writes: LateWrite[] = [];
  let left = COUNT;
  let orphans = 0;
  const lane = async (n: number): Promise<void> => {
    const world = new LateWorld(WRITES[n % WRITES.length] ?? 'create', n, cluster, user);
    while (left-- > 0) {
      signal.throwIfAborted();
      writes.push(await world.round(Math.random() * 100));
    }
    orphans += world.orphans;
  };
  await Promise.all(Array.from({ length: LANES }, (_, n) => lane(n)));
  const accepted = writes.filter(({ outcome }) => outcome === 'accepted');
  return {
    writes,
    overwritten: writes.filter(({ write, prevailed }) => write !== 'recreate' && prevailed).length,
    broughtBack: writes.filter(({ write, prevailed }) => write === 'recreate' && prevailed).length,
    orphans,
    latestMs: Math.max(...accepted.map(({ sentAfterMs }) => sentAfterMs)),
  };
}

function told(mode: string, tally: Tally): string {
  const { writes, overwritten, broughtBack, orphans, latestMs } = tally;
  const accepted = WRITES.map((kind) => {
    const sent = writes.filter(({ write }) => write === kind);
    return `${kind} ${sent.filter(({ outcome }) => outcome === 'accepted').length} of ${sent.length}`;
  });
  const all = writes.filter(({ outcome }) => outcome === 'accepted').length;
  const fenced = writes.map(({ fencedBeforeMs }) => fencedBeforeMs).sort((x, y) => x - y);
  const half = fenced[Math.floor(fenced.length / 2)] ?? Number.NaN;
  const fence = Number.isFinite(half) ? ` (the fence was written ${half.toFixed(1)} ms before it, median)` : '';
  return (
    `${mode}: ${all} of ${writes.length} accepted (${accepted.join(', ')}), the latest sent ${latestMs.toFixed(1)} ms after the steal${fence}; ` +
    `${overwritten} overwrote a newer write, ${broughtBack} brought back a child, of which ${orphans} outlived the next run`
  );
}

async function start(supervisor: Supervisor, say: (text: string) => void, signal: AbortSignal) {
  const binaries = await resolveBinaries({ environment: process.env, onProgress: say, signal });
  const { promise: connected, resolve } = Promise.withResolvers<Kubernetes>();
  const controlPlane = await startControlPlane({
    supervisor,
    binaries,
    async beforeControllers(kubeconfig) {
      const admin = connect(kubeconfig);
      resolve(admin);
      await installCrds(admin.user, signal);
      await installFence(admin, [lateController], signal);
    },
  });
  const { namespace } = FENCE;
  const account = (name: string, rules: ReturnType<typeof functionRules>) =>
    controlPlane.issueKubeconfig({ name, namespace, serviceAccount: name, rules });
  return {
    admin: await connected,
    plain: connect(await account('plain-functions', functionRules([lateController]))),
    strict: connect(await account(FUNCTIONS_ACCOUNT, []), true),
  };
}

function connect(path: string, strict = false): Kubernetes {
  return connectKubernetes({
    credentials: { kind: 'kubeconfig', path },
    guard: createGuard({ name: 'API server', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 250 } }),
    random: new SystemRandom(),
    strict,
  });
}
