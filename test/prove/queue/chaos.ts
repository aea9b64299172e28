import { availableParallelism, loadavg } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { FENCE } from '../../../shared/kube/fence.ts';
import { judge, type Verdict } from '../../support/late-writes.ts';
import { claimsIn, type LoggedClaim } from '../../support/logged-claims.ts';
import { Seeded } from '../../support/seeded.ts';
import { until } from '../../support/until.ts';
import type { Claim, Measured, ProveContext } from '../claim.ts';
import { type Proving, SharedStack } from '../shared-stack.ts';
import { Harm, type Orphaned } from './chaos/harm.ts';
import { type Items, openItems } from './chaos/items.ts';
import { Load } from './chaos/load.ts';
import { wrongItems, wrongWith } from './chaos/right.ts';

export interface ChaosOptions {
  /** Whether a holder that was stolen from is fenced off at once, and not only from what others have written since. */
  readonly strict: boolean;
}

/** For shorter or longer runs, and for the same choices once more. */
const { DRIFTLESS_CHAOS_SECONDS = '180', DRIFTLESS_SEED } = process.env;
const SECONDS = Number(DRIFTLESS_CHAOS_SECONDS);

/** Nobody's: whoever is about to take a lease writes it before it has one. */
const FENCE_OBJECT = `configmaps ${FENCE.namespace}/${FENCE.name}`;

const RIGHT_WITHIN_MS = 120_000;
const REPLACED_WITHIN_MS = 8_000;
/** In strict mode: how long a write may be on its way when its lease is stolen. */
const FENCED_WITHIN_MS = 50;

/**
 * On a stack of its own, with three instances. What it says about time needs a machine that has nothing else to do: an
 * instance takes a second of a core to start, and one is killed every other second.
 */
export function processChaosClaim({ strict }: ChaosOptions): Claim {
  return {
    id: strict ? 'process-chaos-strict' : 'process-chaos',
    text: `${strict ? 'In strict mode: ' : ''}kill -9 and SIGSTOP past the lease at random for ${SECONDS} s under load: all is right in the end, and nobody overwrites a newer claim's write`,
    floor: `every object right within ${RIGHT_WITHIN_MS / 1_000} s; 0 overwrites; a killed holder replaced within ${REPLACED_WITHIN_MS / 1_000} s (p99)${strict ? `; no write later than ${FENCED_WITHIN_MS} ms after the steal` : ''}`,
    async run(context) {
      // As short as a subscription's can be: what a frozen instance has taken comes again after it.
      const shared = new SharedStack({ instances: 3, strict, environment: { DRIFTLESS_ACK_DEADLINE_SECONDS: '10' } });
      const proving = await shared.get(context.say);
      const items = openItems(proving.stack.env);
      try {
        return await prove(proving, items, strict, context);
      } finally {
        await items.close();
        await shared.close();
      }
    },
  };
}

async function prove(
  proving: Proving,
  items: Items,
  strict: boolean,
  { say, signal }: ProveContext,
): Promise<Measured> {
  const { stack, webApps, audit, lines } = proving;
  const seed = Number(DRIFTLESS_SEED ?? Date.now() % 100_000);
  say(`DRIFTLESS_SEED=${seed}`);
  const load = new Load(webApps, stack.admin.user);
  await load.begin(seed);
  const unready = await untilRight(proving, load, items);
  if (unready.length > 0) throw new Error(`nothing was harmed yet, and ${unready.join('; ')}`);
  say(`${load.wanted.size} WebApps are Ready`);

  const over = new AbortController();
  const harm = new Harm(proving, items, new Seeded(seed));
  const harming = harm.run(over.signal);
  const loading = load.run(seed, over.signal);
  await Promise.race([sleep(SECONDS * 1_000, undefined, { signal }).catch(() => undefined), harming, loading]);
  over.abort();
  await loading;
  const [calmAt, orphaned] = [performance.now(), await harming];
  say(`${harm.kills} kills, ${harm.stops} stops; ${JSON.stringify(load.done)}`);

  const wrong = await untilRight(proving, load, items);
  const rightS = (performance.now() - calmAt) / 1_000;
  for (const text of wrong) say(text);
  const claims = claimsIn(lines);
  const writes = audit.acceptedWrites().filter(({ object }) => object !== FENCE_OBJECT);
  const verdict = judge(writes, claims);
  for (const text of verdict.overwrites) say(text);
  if (verdict.unknown.length > 0) say(`of nobody: ${verdict.unknown.slice(0, 3).join(', ')} …`);
  const replaced = replacements(orphaned, claims, say);
  return {
    measured: [
      `${harm.kills} kills and ${harm.stops} stops during ${sum(load.done)} changes`,
      wrong.length === 0 ? `all right after ${rightS.toFixed(1)} s` : `${wrong.length} wrong`,
      `${verdict.overwrites.length} overwrites among ${writes.length} writes of ${claims.length} claims`,
      `${verdict.unknown.length} writes of nobody`,
      `${replaced.length} leases of killed holders, replaced after ${figures(replaced)} (load ${loadavg()[0]?.toFixed(1)} on ${availableParallelism()} cores)`,
      `${lines.filter(({ line }) => line.includes('"run abandoned"')).length} runs found their lease lost, and ${verdict.afterSteal.length} writes came after a steal${lateness(verdict)}`,
    ].join('; '),
    ok:
      wrong.length === 0 &&
      writes.length > 0 &&
      verdict.overwrites.length === 0 &&
      verdict.unknown.length === 0 &&
      replaced.length > 0 &&
      quantile(replaced, 0.99) <= REPLACED_WITHIN_MS &&
      !(strict && verdict.afterSteal.some(({ ms }) => ms > FENCED_WITHIN_MS)),
  };
}

/** @returns what is still wrong when time is up */
async function untilRight({ webApps }: Proving, load: Load, items: Items): Promise<readonly string[]> {
  let wrong: readonly string[] = [];
  const look = async (): Promise<boolean> => {
    const objects = await Promise.all([...load.wanted].map(([name, spec]) => wrongWith(webApps, name, spec)));
    wrong = [...objects.flatMap((text) => text ?? []), ...wrongItems(await items.all(), load.wanted)];
    return wrong.length === 0;
  };
  await until('all is right', look, { withinMs: RIGHT_WITHIN_MS, everyMs: 200 }).catch(() => undefined);
  return wrong;
}

/**
 * How long after its holder was killed each item was claimed again; infinitely long for one that was not. One who was
 * killed before it could log its claim had it when it was killed, at the latest.
 */
function replacements(orphaned: readonly Orphaned[], claims: readonly LoggedClaim[], say: ProveContext['say']) {
  const known = [...claims, ...orphaned.map(({ item, token, killedAt }) => ({ item, token, at: killedAt }))];
  return orphaned.map(({ item, token, killedAt }) => {
    const next = known.filter((claim) => claim.item === item && claim.token > token).map(({ at }) => at);
    const ms = Math.min(...next) - killedAt;
    if (ms > REPLACED_WITHIN_MS) say(`${item}: token ${token}, killed ${new Date(killedAt).toISOString()}, ${ms} ms`);
    return ms;
  });
}

function figures(times: readonly number[]): string {
  const [p50, p99, max] = [0.5, 0.99, 1].map((q) => (quantile(times, q) / 1_000).toFixed(1));
  return `p50 ${p50} s, p99 ${p99} s, max ${max} s`;
}

function lateness({ afterSteal }: Verdict): string {
  const slowest = Math.max(...afterSteal.map(({ ms }) => ms));
  return afterSteal.length === 0 ? '' : `, the latest ${slowest} ms after it`;
}

function quantile(times: readonly number[], q: number): number {
  return times.toSorted((a, b) => a - b)[Math.ceil(q * times.length) - 1] ?? Number.POSITIVE_INFINITY;
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, n) => total + n, 0);
}
