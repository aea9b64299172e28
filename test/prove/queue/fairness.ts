import { setTimeout as sleep } from 'node:timers/promises';
import type { Kind } from '../../../shared/kube/kind.ts';
import { kubectl } from '../../support/kubectl.ts';
import { until } from '../../support/until.ts';
import { WebApps } from '../../support/web-apps.ts';
import type { Claim } from '../claim.ts';
import type { Proving, SharedStack } from '../shared-stack.ts';

const QUIET_NAMESPACES = 5;
/** Changes of quiet WebApps in each measurement, one after the other, and the pause between two. */
const CHANGES = 200;
const PAUSE_MS = 50;
const NOISY = Number(process.env['NOISY'] ?? 1_500);
/** Requests of the noisy user under way at once. */
const AT_ONCE = 8;
const FLAPS_EVERY_MS = 10;

const Namespace: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

/**
 * Quiet WebApps in several namespaces change one after the other: first alone, then while another namespace is busy.
 * Measured is the time from the API server's answer to a change until the status tells that it was carried out.
 *
 * API server, etcd, emulators and the noisy user share the machine with the quiet ones: that part no queue can divide.
 */
export function fairnessClaim(shared: SharedStack): Claim {
  return {
    id: 'fair-lanes',
    text: `${NOISY} WebApps of one namespace change at once, and an object flaps 100 times a second: others hardly notice`,
    floor: `p99 of change → status in ${QUIET_NAMESPACES} quiet namespaces ≤ 2 × p99 without the noise + 100 ms`,
    async run({ say }) {
      const proving = await shared.get(say);
      const quiet = await quietOnes(proving);
      say(`creating ${NOISY} WebApps`);
      const noisy = await noisyOne(proving, 'fair-noisy');
      await noisy.create();

      const alone = await measured(quiet);
      say(`alone: ${figures(alone)}`);
      const before = proving.lines.length;
      const noise = noisy.start();
      const beside = await measured(quiet).finally(() => noise.stop());
      const { changed, flapped } = await noise.stop();
      say(`beside the noise: ${figures(beside)}`);

      const lines = proving.lines.slice(before).map(({ line }) => line);
      const count = (...parts: readonly string[]) =>
        lines.filter((line) => parts.every((p) => line.includes(p))).length;
      const rung = (topic: string) => count('"doorbell published"', '"fair-noisy', `"topic":"${topic}"`);
      const limit = 2 * at(alone, 0.99) + 100;
      return {
        measured:
          `alone ${figures(alone)}; beside ${changed} changes and ${flapped} flaps ${figures(beside)}; ` +
          `of the noisy ${rung('changes')} messages in changes, ${rung('background')} in the background, ` +
          `${count('"run finished"', '"fair-noisy')} runs`,
        ok: at(beside, 0.99) <= limit,
      };
    },
  };
}

async function quietOnes(proving: Proving): Promise<readonly WebApps[]> {
  const tenants = Array.from({ length: QUIET_NAMESPACES }, (_, n) => `fair-quiet-${n}`);
  return await Promise.all(
    tenants.map(async (namespace) => {
      const webApps = await webAppsIn(proving, namespace);
      await webApps.apply('web', { replicas: 0, host: 'first.example.com' });
      await webApps.untilReady('web');
      return webApps;
    }),
  );
}

/** @returns how long each change took, in milliseconds, sorted */
async function measured(quiet: readonly WebApps[]): Promise<readonly number[]> {
  const took: number[] = [];
  for (let n = 0; n < CHANGES; n += 1) {
    const webApps = quiet[n % quiet.length];
    if (webApps === undefined) break;
    const host = `change-${n}-${Math.round(performance.now())}.example.com`;
    const { metadata } = await webApps.apply('web', { replicas: 0, host });
    const done = async (): Promise<boolean> => {
      const status = (await webApps.get('web'))?.status;
      return status?.observedGeneration === metadata.generation && status?.url === `http://${host}`;
    };
    took.push(await until('the status tells the change', done, { everyMs: 5 }));
    await sleep(PAUSE_MS);
  }
  return took.sort((a, b) => a - b);
}

/** A namespace with many WebApps, and a user who changes them all at once, again and again, and one without a pause. */
async function noisyOne(proving: Proving, namespace: string) {
  const [webApps, flapping] = [await webAppsIn(proving, namespace), await webAppsIn(proving, `${namespace}-flap`)];
  const names = Array.from({ length: NOISY }, (_, n) => `noisy-${n}`);
  const unready = async (): Promise<number> => {
    const readiness = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';
    const args = ['get', 'webapps', '--namespace', namespace, '--output', `jsonpath=${readiness}`];
    const { stdout } = await kubectl(proving.stack.controlPlane.kubeconfig, args);
    return NOISY - stdout.split('\n').filter((status) => status === 'True').length;
  };

  return {
    async create(): Promise<void> {
      await atOnce(names, async (name) => void (await webApps.apply(name, { replicas: 0 })));
      await flapping.apply('flaps', { replicas: 0 });
      await flapping.untilReady('flaps');
      const ready = async () => (await unready()) === 0;
      await until('all of them are Ready', ready, { withinMs: 900_000, everyMs: 2_000 });
    },
    start() {
      const stopping = new AbortController();
      let [changed, flapped] = [0, 0];
      const changing = (async () => {
        for (let round = 1; !stopping.signal.aborted; round += 1) {
          await atOnce(names, async (name) => {
            if (stopping.signal.aborted) return;
            await webApps.apply(name, { replicas: 0, host: `round-${round}.${name}.example.com` });
            changed += 1;
          });
        }
      })();
      const flaps = (async () => {
        while (!stopping.signal.aborted) {
          const next = sleep(FLAPS_EVERY_MS);
          await flapping.apply('flaps', { replicas: 0, host: `flap-${flapped}.example.com` });
          flapped += 1;
          await next;
        }
      })();
      return {
        async stop() {
          stopping.abort();
          await Promise.all([changing, flaps]);
          return { changed, flapped };
        },
      };
    },
  };
}

async function webAppsIn({ stack }: Proving, namespace: string): Promise<WebApps> {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  await stack.admin.cluster.apply(Namespace, object, { fieldManager: 'test', signal: new AbortController().signal });
  return new WebApps(stack.admin.cluster, namespace);
}

async function atOnce(names: readonly string[], change: (name: string) => Promise<void>): Promise<void> {
  const left = names[Symbol.iterator]();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const name of left) await change(name);
    }),
  );
}

function at(sorted: readonly number[], quantile: number): number {
  return sorted[Math.ceil(quantile * sorted.length) - 1] ?? Number.POSITIVE_INFINITY;
}

function figures(sorted: readonly number[]): string {
  const [p50, p90, p99] = [0.5, 0.9, 0.99].map((quantile) => Math.round(at(sorted, quantile)));
  return `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms`;
}
