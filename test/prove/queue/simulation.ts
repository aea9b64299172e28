import { Command } from '../../support/command.ts';
import type { Claim, ProveContext } from '../claim.ts';

export function simulationClaims(): readonly Claim[] {
  return [exhaustiveClaim(), randomWorldsClaim()];
}

const TEN_MINUTES_S = 600;

function exhaustiveClaim(): Claim {
  return {
    id: 'exhaustive',
    text: 'Every schedule of small worlds (two workers; a change, a drift, a crash anywhere, a pause past the lease, a duplicate; one object, and two) ends with all repaired, told and idle; each guard that is taken away is missed',
    floor: 'all explored within 10 min; every mutation caught',
    async run(context) {
      const worlds = await simulate('exhaustive', context);
      const mutations = await simulate('mutations', context);
      return {
        measured: `${worlds.inAll} in ${worlds.seconds.toFixed(0)} s; ${mutations.inAll}, ${mutations.failed} not caught`,
        ok: worlds.failed + mutations.failed === 0 && worlds.seconds + mutations.seconds < TEN_MINUTES_S,
      };
    },
  };
}

function randomWorldsClaim(): Claim {
  return {
    id: 'random-worlds',
    text: 'Random worlds of the real pipeline (instances that live on, die and sleep, clocks ten minutes off, messages lost, doubled, late and out of order, errors and races of store and API server) end with all repaired, told and idle; then no news costs one read at most',
    floor: '10,000 worlds, none failing',
    async run(context) {
      const { inAll, happened, failed, seconds } = await simulate('random', context);
      context.say(happened);
      const isEnough = /^10,000 random worlds, 0 failing$/.test(inAll);
      return { measured: `${inAll}, in ${seconds.toFixed(0)} s`, ok: failed === 0 && isEnough };
    },
  };
}

/** Runs a file of simulations as CI does, and reads what it prints. */
async function simulate(name: 'exhaustive' | 'mutations' | 'random', { say, signal }: ProveContext) {
  const startedAt = performance.now();
  const tests = new Command(process.execPath, [`test/simulation/${name}.test.ts`], {
    env: { DRIFTLESS_SIMULATION: 'ci' },
  });
  const stop = () => tests.press('SIGKILL');
  signal.addEventListener('abort', stop, { once: true });
  const code = await tests.ended;
  signal.removeEventListener('abort', stop);
  const { output } = tests;
  tests.forget();
  const printed = (pattern: RegExp): string => pattern.exec(output)?.[1] ?? '';
  const failed = code === 0 ? 0 : Math.max(1, Number(printed(/^ℹ fail (\d+)$/m)));
  if (failed > 0) say(output);
  const inAll = printed(/^ *ℹ in all: (.+)$/m);
  const happened = printed(/^ *ℹ (API server: .+)$/m);
  return { inAll, happened, failed, seconds: (performance.now() - startedAt) / 1_000 };
}
