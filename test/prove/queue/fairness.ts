import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigMap } from '../../../shared/kube/builtin.ts';
import type { Kind } from '../../../shared/kube/kind.ts';
import { kubectl } from '../../support/kubectl.ts';
import { until } from '../../support/until.ts';
import { WebApps } from '../../support/web-apps.ts';
import type { Claim } from '../claim.ts';
import { type Proving, SharedStack } from '../shared-stack.ts';

const QUIET_NAMESPACES = 5;
/** Changes of quiet WebApps in each measurement, one after the other, and the pause between two. */
const CHANGES = 200;
const PAUSE_MS = 50;
const NOISY = 1_000;
/** Requests under way at once while the noisy ones are made. */
const AT_ONCE = 8;
const CHANGES_EVERY_MS = 40;
const FLAPS_EVERY_MS = 10;

/**
 * Budgets for two cores that the API server, the emulators and the users share: a run costs all of them together some
 * 15 ms, so what is left for one tenant, and for all that is over its budget, must be less than the defaults.
 */
const BUDGETS = { DRIFTLESS_TENANT_PER_SECOND: '10', DRIFTLESS_DEMOTED_PER_SECOND: '20' };

const NEVER = new AbortController().signal;

const Namespace: Kind = { group: '', version: 'v1', kind: 'Namespace', plural: 'namespaces', namespaced: false };

/**
 * Quiet WebApps in several namespaces change one after the other: first while somebody changes ConfigMaps, which nobody
 * watches, then while the same requests change WebApps of another namespace. So the API server's own load is in both.
 *
 * Measured is the time from the API server's answer to a change until a run looks at it, which is what a queue can keep
 * short; and until the status tells that it was carried out.
 */
export function fairnessClaim(): { readonly claim: Claim; close(): Promise<void> } {
  const shared = new SharedStack({ environment: BUDGETS });
  const claim: Claim = {
    id: 'fair-lanes',
    text: `${NOISY} WebApps of one namespace change all the time, and an object flaps 100 times a second: nobody else waits for them`,
    floor: `p99 of change → run in ${QUIET_NAMESPACES} quiet namespaces ≤ 2 × p99 beside the same requests to what nobody watches + 100 ms`,
    async run({ say }) {
      const proving = await shared.get(say);
      const quiet = await quietOnes(proving);
      say(`creating ${NOISY} WebApps`);
      const [webApps, configMaps] = [await noisyWebApps(proving), await noisyConfigMaps(proving)];

      const unwatched = await besides(proving, quiet, configMaps);
      say(`unwatched: ${told(unwatched)}`);
      const before = proving.lines.length;
      const watched = await besides(proving, quiet, webApps);
      say(`watched: ${told(watched)}`);

      const lines = proving.lines.slice(before).map(({ line }) => line);
      const count = (...parts: readonly string[]) =>
        lines.filter((line) => parts.every((p) => line.includes(p))).length;
      const rung = (topic: string) => count('"doorbell published"', '"fair-noisy', `"topic":"${topic}"`);
      return {
        measured:
          `beside ConfigMaps: ${told(unwatched)}; beside WebApps: ${told(watched)}; ` +
          `of the noisy ones ${rung('changes')} messages in changes, ${rung('background')} in the background, ` +
          `${count('"run finished"', '"fair-noisy')} runs`,
        ok: at(watched.latencies.toRun, 0.99) <= 2 * at(unwatched.latencies.toRun, 0.99) + 100,
      };
    },
  };
  return { claim, close: () => shared.close() };
}

/** What happened beside each other. */
interface Beside {
  readonly latencies: Latencies;
  readonly changed: number;
  readonly flapped: number;
}

async function besides(proving: Proving, quiet: readonly WebApps[], noise: Noise): Promise<Beside> {
  const stopping = new AbortController();
  const [changing, flapping] = [
    every(CHANGES_EVERY_MS, noise.change, stopping.signal),
    every(FLAPS_EVERY_MS, noise.flap, stopping.signal),
  ];
  try {
    const latencies = await measured(proving, quiet);
    stopping.abort();
    return { latencies, changed: await changing, flapped: await flapping };
  } finally {
    stopping.abort();
  }
}

/** Does it again and again, at this pace or as fast as it goes. @returns how often */
async function every(ms: number, act: (n: number) => Promise<void>, signal: AbortSignal): Promise<number> {
  for (let n = 0; ; n += 1) {
    if (signal.aborted) return n;
    await Promise.all([act(n), sleep(ms)]);
  }
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

/** Somebody with many objects in a namespace, and one more that changes all the time. */
interface Noise {
  /** Changes one of the many, in turn. */
  change(n: number): Promise<void>;
  flap(n: number): Promise<void>;
}

const NAMESPACE = 'fair-noisy';
const nameOf = (n: number): string => `noisy-${n % NOISY}`;

async function noisyWebApps(proving: Proving): Promise<Noise> {
  const [many, flapping] = [await webAppsIn(proving, NAMESPACE), await webAppsIn(proving, `${NAMESPACE}-flap`)];
  const names = Array.from({ length: NOISY }, (_, n) => nameOf(n));
  await atOnce(names, async (name) => void (await many.apply(name, { replicas: 0 })));
  await flapping.apply('flaps', { replicas: 0 });
  await flapping.untilReady('flaps');
  const ready = async () => (await readyIn(proving, NAMESPACE)) === NOISY;
  await until('all of them are Ready', ready, { withinMs: 900_000, everyMs: 2_000 });
  return {
    change: async (n) => void (await many.apply(nameOf(n), { replicas: 0, host: `change-${n}.example.com` })),
    flap: async (n) => void (await flapping.apply('flaps', { replicas: 0, host: `flap-${n}.example.com` })),
  };
}

async function noisyConfigMaps({ stack }: Proving): Promise<Noise> {
  const apply = async (name: string, host: string): Promise<void> => {
    const metadata = { namespace: NAMESPACE, name };
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { host } };
    await stack.admin.user.apply(ConfigMap, object, { fieldManager: 'test', signal: NEVER });
  };
  await atOnce(
    Array.from({ length: NOISY }, (_, n) => nameOf(n)),
    (name) => apply(name, 'first'),
  );
  return {
    change: (n) => apply(nameOf(n), `change-${n}.example.com`),
    flap: (n) => apply('flaps', `flap-${n}.example.com`),
  };
}

async function readyIn({ stack }: Proving, namespace: string): Promise<number> {
  const readiness = '{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\\n"}{end}';
  const args = ['get', 'webapps', '--namespace', namespace, '--output', `jsonpath=${readiness}`];
  const { stdout } = await kubectl(stack.controlPlane.kubeconfig, args);
  return stdout.split('\n').filter((status) => status === 'True').length;
}

async function webAppsIn({ stack }: Proving, namespace: string): Promise<WebApps> {
  const object = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } };
  await stack.admin.user.apply(Namespace, object, { fieldManager: 'test', signal: NEVER });
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

function told({ latencies: { toRun, toStatus }, changed, flapped }: Beside): string {
  const shown = (sorted: readonly number[]) => [0.5, 0.9, 0.99].map((q) => Math.round(at(sorted, q))).join('/');
  return `p50/p90/p99 to the run ${shown(toRun)} ms, to the status ${shown(toStatus)} ms (${changed} changes, ${flapped} flaps)`;
}
