import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from '../../support/command.ts';
import { kubectl } from '../../support/kubectl.ts';
import type { Claim, ProveContext } from '../claim.ts';

/** A clone of this repository in a folder of its own, with caches that nobody has filled. */
class FreshClone {
  readonly home = mkdtempSync(join(tmpdir(), 'driftless-clone-'));
  readonly directory = join(this.home, 'driftless');
  readonly env = {
    DRIFTLESS_CACHE_DIR: join(this.home, 'cache'),
    GOCACHE: join(this.home, 'go-build'),
    GOMODCACHE: join(this.home, 'go-mod'),
    // Modules are read-only by default, and the folder could not be removed.
    GOFLAGS: '-modcacherw',
    npm_config_cache: join(this.home, 'npm'),
    KUBEBUILDER_ASSETS: undefined,
  };
  #made: Promise<void> | undefined;

  /** Clones and installs, once. */
  make(say: (text: string) => void): Promise<void> {
    this.#made ??= this.#make(say);
    return this.#made;
  }

  /** @returns how long it took, in seconds */
  async run(command: string, args: readonly string[], say?: (text: string) => void): Promise<number> {
    const start = performance.now();
    const ran = new Command(command, args, {
      cwd: this.directory,
      env: this.env,
      ...(say === undefined ? {} : { say }),
    });
    const code = await ran.ended;
    const left = ran.leftovers();
    ran.forget();
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} exited ${code}:\n${ran.output.slice(-3000)}`);
    if (left.length > 0) throw new Error(`${command} ${args.join(' ')} left behind: ${left.join(', ')}`);
    return (performance.now() - start) / 1000;
  }

  remove(): void {
    rmSync(this.home, { recursive: true, force: true });
  }

  async #make(say: (text: string) => void): Promise<void> {
    const clone = new Command('git', ['clone', '--quiet', process.cwd(), this.directory]);
    if ((await clone.ended) !== 0) throw new Error(`git clone failed: ${clone.output}`);
    clone.forget();
    say(`npm ci took ${(await this.run('npm', ['ci'])).toFixed(0)} s`);
  }
}

/** The claims about the two commands; they share one clone, in this order. */
export function freshCloneClaims(): { readonly claims: readonly Claim[]; readonly close: () => Promise<void> } {
  const clone = new FreshClone();
  return {
    claims: [freshDemo(clone), warmDemo(clone), keptDemo(clone)],
    close: async () => clone.remove(),
  };
}

function freshDemo(clone: FreshClone): Claim {
  return {
    id: 'fresh-clone',
    text: 'On a fresh clone and empty caches, npm ci && npm run demo exits 0 and leaves nothing running',
    floor: 'exit 0, nothing left',
    async run({ say }) {
      await clone.make(say);
      const facts = join(clone.home, 'fresh.json');
      const seconds = await clone.run('npm', ['run', 'demo', '--', '--json', facts], progressOnly(say));
      const { startedInMs } = JSON.parse(readFileSync(facts, 'utf8')) as Facts;
      const parts = Object.entries(startedInMs).map(([part, ms]) => `${part} ${(ms / 1000).toFixed(1)}`);
      const exit = `exit 0 after ${seconds.toFixed(0)} s (with the control plane built), nothing left`;
      return { measured: `${exit}; s to ready: ${parts.join(', ')}`, ok: true };
    },
  };
}

function warmDemo(clone: FreshClone): Claim {
  return {
    id: 'warm-demo',
    text: 'A second demo, with the cache warm, needs less than 60 s in all',
    floor: '< 60 s',
    async run({ say }) {
      await clone.make(say);
      const facts = join(clone.home, 'facts.json');
      const seconds = await clone.run('npm', ['run', 'demo', '--', '--json', facts]);
      const { stackMs, steps } = JSON.parse(readFileSync(facts, 'utf8')) as Facts;
      const story = steps.map(({ name, ms }) => `${name} ${ms} ms`).join(', ');
      const measured = `${seconds.toFixed(1)} s; the stack in ${(stackMs / 1000).toFixed(1)} s; ${story}`;
      return { measured, ok: seconds < 60 };
    },
  };
}

interface Facts {
  readonly startedInMs: Readonly<Record<string, number>>;
  readonly stackMs: number;
  readonly steps: readonly { readonly name: string; readonly ms: number }[];
  readonly kubeconfig: string;
}

function keptDemo(clone: FreshClone): Claim {
  return {
    id: 'kubectl',
    text: 'While --keep holds the stack: kubectl wait works from outside, get shows useful columns, describe conditions that a person understands; Ctrl-C ends it all',
    floor: 'wait exits 0; columns PHASE READY REPLICAS URL AGE; a sentence for Ready; nothing left 5 s after Ctrl-C',
    async run({ say }: ProveContext) {
      await clone.make(say);
      const facts = join(clone.home, 'kept.json');
      const kept = new Command('npm', ['run', 'demo', '--', '--keep', '--json', facts], {
        cwd: clone.directory,
        env: clone.env,
      });
      try {
        await kept.untilItSays('Ctrl-C stops everything');
        const { kubeconfig } = JSON.parse(readFileSync(facts, 'utf8')) as Facts;
        const wait = await kubectl(kubeconfig, ['wait', '--for=condition=Ready', 'webapp/shop', '--timeout=30s']);
        const get = await kubectl(kubeconfig, ['get', 'webapps']);
        const describe = await kubectl(kubeconfig, ['describe', 'webapp', 'shop']);
        say(get.stdout.trimEnd());
        const columns = get.stdout.split('\n')[0]?.split(/\s+/).filter(Boolean).join(' ');
        const sentence = /Message:\s+(3 of 3 replicas are available; the Service and the Ingress are in place\.)/.exec(
          describe.stdout,
        );

        const pressed = performance.now();
        kept.press('SIGINT');
        await kept.ended;
        const stopped = (performance.now() - pressed) / 1000;
        const left = kept.leftovers();
        const ok =
          wait.code === 0 &&
          columns === 'NAME PHASE READY REPLICAS URL AGE' &&
          sentence !== null &&
          stopped <= 5 &&
          left.length === 0;
        const measured = `wait exits ${wait.code}; columns ${columns}; '${sentence?.[1] ?? describe.stdout.slice(-500)}'; stopped in ${stopped.toFixed(1)} s, left: ${left.join(', ') || 'nothing'}`;
        return { measured, ok };
      } finally {
        kept.press('SIGKILL');
        kept.forget();
      }
    },
  };
}

/** Shows only what takes long, so that the story of the demo does not drown the claims. */
function progressOnly(say: (text: string) => void): (text: string) => void {
  return (text) => {
    for (const line of text.split('\n')) if (line.includes('·')) say(line.trim());
  };
}
