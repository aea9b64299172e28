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
const NOISY = 1_500;
/** Requests of the noisy user under way at once. */
const AT_ONCE = 8;
const FLAPS_EVERY_MS = 10;

const Namespace: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

/**
 * Quiet WebApps in several namespaces change one after the other: first alone, then while another namespace is busy.
 * Measured is the time from the API server's answer to a change until a run looks at it, which is what a queue can keep
 * short; and until the status tells that it was carried out. That one also grows with the load: API server, etcd,
 * emulators and the noisy user share the machine with the quiet ones' runs, and no queue divides that.
 */
export function fairnessClaim(shared: SharedStack): Claim {
  return {
    id: 'fair-lanes',
    text: `${NOISY} WebApps of one namespace change at once, and an object flaps 100 times a second: nobody else waits for them`,
    floor: `p99 of change → run in ${QUIET_NAMESPACES} quiet namespaces ≤ 2 × p99 without the noise + 100 ms`,
    async run({ say }) {
      const proving = await shared.get(say);
      const quiet = await quietOnes(proving);
      say(`creating ${NOISY} WebApps`);
      const noisy = await noisyOne(proving, 'fair-noisy');
      await noisy.create();

      const alone = await measured(proving, quiet);
      say(`alone: ${figures(alone)}`);
      const before = proving.lines.length;
      const noise = noisy.start();
      const beside = await measured(proving, quiet).finally(() => noise.stop());
      const { changed, flapped } = await noise.stop();
      say(`beside the noise: ${figures(beside)}`);

      const lines = proving.lines.slice(before).map(({ line }) => line);
      const count = (...parts: readonly string[]) =>
        lines.filter((line) => parts.every((p) => line.includes(p))).length;
      const rung = (topic: string) => count('"doorbell published"', '"fair-noisy', `"topic":"${topic}"`);
      return {
        measured:
          `alone ${figures(alone)}; beside ${changed} changes and ${flapped} flaps ${figures(beside)}; ` +
          `of the noisy ones ${rung('changes')} messages in changes, ${rung('background')} in the background, ` +
          `${count('"run finished"', '"fair-noisy')} runs`,
        ok: at(beside.toRun, 0.99) <= 2 * at(alone.toRun, 0.99) + 100,
      };
    },
  };
}

/** Milliseconds from each change on, sorted. */
interface Latencies {
  readonly toRun: readonly number[];
  readonly toStatus: readonly number[];
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

async function measured({ lines }: Proving, quiet: readonly WebApps[]): Promise<Latencies> {
  const [toRun, toStatus]: [number[], number[]] = [[], []];
  for (let n = 0; n < CHANGES; n += 1) {
    const webApps = quiet[n % quiet.length];
    if (webApps === undefined) break;
    const host = `change-${n}-${Date.now()}.example.com`;
    const from = lines.length;
    const { metadata } = await webApps.apply('web', { replicas: 0, host });
    const changedAt = Date.now();
    const told = async (): Promise<boolean> => {
      const status = (await webApps.get('web'))?.status;
      return status?.observedGeneration === metadata.generation && status?.url === `http://${host}`;
    };
    toStatus.push(await until('the status tells the change', told, { everyMs: 5 }));
    let startedAt: number | undefined;
    const logged = async (): Promise<boolean> => {
      startedAt = startOf(lines.slice(from), webApps.namespace, metadata.generation ?? 0);
      return startedAt !== undefined;
    };
    await until('the log tells the run', logged);
    toRun.push(Math.max(0, (startedAt ?? 0) - changedAt));
    await sleep(PAUSE_MS);
  }
  const sorted = (times: readonly number[]) => times.toSorted((a, b) => a - b);
  return { toRun: sorted(toRun), toStatus: sorted(toStatus) };
}

/** When the first run began that saw this generation. Epoch milliseconds. */
function startOf(
  lines: readonly { readonly line: string }[],
  namespace: string,
  generation: number,
): number | undefined {
  for (const { line } of lines) {
    if (!line.includes('"run finished"') || !line.includes(`"${namespace}"`)) continue;
    const run = JSON.parse(line) as { readonly time: string; readonly durationMs: number; readonly generation: number };
    if (run.generation >= generation) return Date.parse(run.time) - run.durationMs;
  }
  return undefined;
}

/** A namespace with many WebApps, a user who changes them all at once, and one who changes one of another all the time. */
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
      const changing = atOnce(names, async (name) => {
        if (stopping.signal.aborted) return;
        await webApps.apply(name, { replicas: 0, host: `${name}.example.com` });
        changed += 1;
      });
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
  await stack.admin.user.apply(Namespace, object, { fieldManager: 'test', signal: new AbortController().signal });
  return new WebApps(stack.admin.user, namespace);
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

function figures({ toRun, toStatus }: Latencies): string {
  const shown = (sorted: readonly number[]) => [0.5, 0.9, 0.99].map((q) => Math.round(at(sorted, q))).join('/');
  return `p50/p90/p99 to the run ${shown(toRun)} ms, to the status ${shown(toStatus)} ms`;
}
