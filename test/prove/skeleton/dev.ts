import { utimesSync } from 'node:fs';
import { Command } from '../../support/command.ts';
import { kubectl } from '../../support/kubectl.ts';
import { pathWithout } from '../../support/path-without.ts';
import type { Claim } from '../claim.ts';

export function devClaims(): readonly Claim[] {
  return [devClaim(), secondInterruptClaim(), embeddedClaim()];
}

function devClaim(): Claim {
  return {
    id: 'dev',
    text: 'npm run dev: prints the kubeconfig, restarts functions on edit, restarts a part that dies, and Ctrl-C stops everything',
    floor: 'all of it; stopped ≤ 5 s after Ctrl-C, nothing left',
    async run({ say }) {
      const dev = new Command('npm', ['run', 'dev']);
      try {
        await dev.untilItSays('Ctrl-C stops everything');
        const kubeconfig = /KUBECONFIG=(\S+)/.exec(dev.output)?.[1] ?? '';
        const created = await kubectl(kubeconfig, ['apply', '-f', 'functions/controllers/webapp/example.yaml']);
        const wait = await kubectl(kubeconfig, ['wait', '--for=condition=Ready', 'webapp', '--all', '--timeout=60s']);
        say(`kubectl apply exits ${created.code}, wait ${wait.code}`);

        const now = new Date();
        utimesSync('functions/controllers/webapp/children.ts', now, now);
        await dev.untilItSays('the functions start again');
        await dev.untilItSays('functions serve the change');

        process.kill(dev.pidOf('infra/forwarder/main.ts'), 'SIGKILL');
        await dev.untilItSays('and is started again');

        const pressed = performance.now();
        dev.press('SIGINT');
        const code = await dev.ended;
        const seconds = (performance.now() - pressed) / 1000;
        const left = dev.leftovers();
        return {
          measured: `Ready by kubectl (${wait.code}), restarted on edit and on death, stopped in ${seconds.toFixed(1)} s with ${code}, left: ${left.join(', ') || 'nothing'}`,
          ok: created.code === 0 && wait.code === 0 && seconds <= 5 && left.length === 0,
        };
      } finally {
        dev.press('SIGKILL');
        dev.forget();
      }
    },
  };
}

function secondInterruptClaim(): Claim {
  return {
    id: 'interrupt',
    text: 'Ctrl-C while everything starts, a second Ctrl-C at once, and kill -9 of the command itself: nothing is left behind',
    floor: 'nothing left, three times',
    async run({ say }) {
      const left: string[] = [];
      for (const how of ['once while starting', 'twice', 'kill -9'] as const) {
        const dev = new Command('npm', ['run', 'dev']);
        await dev.untilItSays(how === 'once while starting' ? 'etcd' : 'Ctrl-C stops everything');
        const pressed = performance.now();
        if (how === 'kill -9') dev.press('SIGKILL');
        else dev.press('SIGINT');
        if (how === 'twice') dev.press('SIGINT');
        await dev.ended;
        const found = await dev.settledLeftovers(5_000);
        left.push(...found);
        say(
          `${how}: ended after ${Math.round(performance.now() - pressed)} ms, left: ${found.join(', ') || 'nothing'}`,
        );
        dev.forget();
      }
      return { measured: left.length === 0 ? 'nothing left, three times' : left.join(', '), ok: left.length === 0 };
    },
  };
}

function embeddedClaim(): Claim {
  return {
    id: 'no-java',
    text: 'Without Java the demo runs on the embedded stand-ins, and says so in one line',
    floor: 'exit 0; one line',
    async run() {
      const shadow = pathWithout(['java']);
      const demo = new Command('npm', ['run', 'demo'], { env: { PATH: shadow.path, JAVA_HOME: undefined } });
      const code = await demo.ended;
      shadow.remove();
      const lines = demo.output.split('\n').filter((line) => line.includes('embedded stand-ins'));
      const left = demo.leftovers();
      demo.forget();
      const ok = code === 0 && lines.length === 1 && left.length === 0;
      return {
        measured: ok ? `exit 0; '${lines[0]?.trim()}'` : `exit ${code}: ${demo.output.slice(-1500)} ${left.join()}`,
        ok,
      };
    },
  };
}
