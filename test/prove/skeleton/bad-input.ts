import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, type CommandOptions } from '../../support/command.ts';
import { kubectl } from '../../support/kubectl.ts';
import { pathWithout } from '../../support/path-without.ts';
import type { Claim, ProveContext } from '../claim.ts';
import type { SharedStack } from '../shared-stack.ts';

interface Mistake {
  readonly what: string;
  readonly args: readonly string[];
  readonly options?: CommandOptions;
  readonly code: number;
  /** All of it must stand in what the command says. */
  readonly says: readonly RegExp[];
}

export function badInputClaim(shared: SharedStack): Claim {
  return {
    id: 'bad-input',
    text: 'Bad input gets a clear message and an exit status other than 0, and leaves nothing running',
    floor: 'all cases',
    async run(context) {
      const blocker = await listen();
      const empty = mkdtempSync(join(tmpdir(), 'empty-cache-'));
      const noGo = pathWithout(['go']);
      const noJava = pathWithout(['java']);
      const cases: readonly Mistake[] = [
        {
          what: 'a port that is taken',
          args: ['npm', 'run', 'demo', '--', '--api-port', String(blocker.port)],
          code: 2,
          says: [/PORT_TAKEN/, new RegExp(`port ${blocker.port} `), /--api-port/],
        },
        {
          what: 'a port that is none',
          args: ['npm', 'run', 'demo', '--', '--api-port', '99999'],
          code: 2,
          says: [/--api-port/, /whole number from 1 to 65535/],
        },
        {
          what: 'no control plane, no Go, no download',
          args: ['npm', 'run', 'demo'],
          options: {
            env: {
              PATH: noGo.path,
              DRIFTLESS_CACHE_DIR: empty,
              KUBEBUILDER_ASSETS: undefined,
              DRIFTLESS_DOWNLOAD_MIRROR: 'http://127.0.0.1:9',
            },
          },
          code: 2,
          says: [/CONTROL_PLANE_UNAVAILABLE/, /KUBEBUILDER_ASSETS/, /cache/, /download/, /build/, /[Gg]o /],
        },
        {
          what: 'emulators required, and no Java',
          args: ['npm', 'run', 'demo', '--', '--require-emulators'],
          options: { env: { PATH: noJava.path, JAVA_HOME: undefined } },
          code: 2,
          says: [/INVALID_CONFIG/, /Java 17/],
        },
        {
          what: 'a project that could be a real one',
          args: ['npm', 'run', 'demo'],
          options: { env: { GOOGLE_CLOUD_PROJECT: 'production' } },
          code: 2,
          says: [/INVALID_CONFIG/, /'production'/, /demo-/],
        },
        {
          what: 'a forwarder with several wrong settings',
          args: ['npx', 'node', 'infra/forwarder/main.ts'],
          options: { env: { GOOGLE_CLOUD_PROJECT: undefined, PORT: 'http', LOG_LEVEL: 'loud' } },
          code: 2,
          says: [/GOOGLE_CLOUD_PROJECT/, /PORT/, /LOG_LEVEL/],
        },
        {
          what: 'functions with several wrong settings',
          args: ['npx', 'functions-framework', '--source=functions/index.ts', '--target=reconcile'],
          options: { env: { GOOGLE_CLOUD_PROJECT: undefined, LOG_LEVEL: 'loud', DRIFTLESS_LEASE_SECONDS: '-1' } },
          code: 2,
          says: [/GOOGLE_CLOUD_PROJECT/, /LOG_LEVEL/, /DRIFTLESS_LEASE_SECONDS/],
        },
        {
          what: 'a command that does not exist',
          args: ['npx', 'node', 'infra/cli/main.ts', 'dmo'],
          code: 2,
          says: [/demo/],
        },
      ];
      try {
        const wrong: string[] = [];
        for (const mistake of cases) wrong.push(...(await check(mistake, context)));
        wrong.push(...(await checkRefusals(shared, context)));
        const all = cases.length + REFUSED.length;
        const measured = wrong.length === 0 ? `${all} of ${all} cases` : wrong.join('\n');
        return { measured, ok: wrong.length === 0 };
      } finally {
        blocker.close();
        noGo.remove();
        noJava.remove();
        rmSync(empty, { recursive: true, force: true });
      }
    },
  };
}

/** @returns what is wrong with how the command took it */
async function check({ what, args, options, code, says }: Mistake, { say }: ProveContext): Promise<readonly string[]> {
  const [command = '', ...rest] = args;
  const ran = new Command(command, rest, options);
  const exited = await ran.ended;
  const left = await ran.settledLeftovers(2_000);
  const unsaid = says.filter((pattern) => !pattern.test(ran.output));
  ran.forget();
  say(`${what}: exits ${exited}`);
  return [
    ...(exited === code ? [] : [`${what}: exits ${exited} instead of ${code}: ${ran.output.slice(-600)}`]),
    ...unsaid.map((pattern) => `${what}: does not say ${pattern}: ${ran.output.slice(-600)}`),
    ...left.map((thing) => `${what}: left ${thing}`),
  ];
}

/** WebApps that the schema refuses, and what the API server says then. */
const REFUSED = [
  { spec: '{ image: "nginx:1", replicas: -1 }', says: /spec\.replicas.*greater than or equal to 0/ },
  { spec: '{ replicas: 1 }', says: /spec\.image: Required value/ },
  { spec: '{ image: "nginx:1", tlsSecretName: t }', says: /tlsSecretName needs a host/ },
] as const;

async function checkRefusals(shared: SharedStack, { say }: ProveContext): Promise<readonly string[]> {
  const { stack } = await shared.get(say);
  const wrong: string[] = [];
  for (const { spec, says } of REFUSED) {
    const yaml = `apiVersion: apps.driftless.dev/v1\nkind: WebApp\nmetadata: { name: refused }\nspec: ${spec}\n`;
    const { code, stderr } = await kubectl(stack.controlPlane.kubeconfig, ['apply', '-f', '-'], yaml);
    say(`kubectl apply: ${stderr.trim()}`);
    if (code !== 1 || !says.test(stderr)) wrong.push(`${spec}: kubectl exits ${code}: ${stderr}`);
  }
  return wrong;
}

function listen(): Promise<{ readonly port: number; close(): void }> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      resolve({ port, close: () => server.close() });
    });
  });
}
