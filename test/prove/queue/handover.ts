import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseEnv } from 'node:util';
import { controllers } from '../../../functions/controllers/index.ts';
import { WebApp } from '../../../functions/controllers/webapp/kind.ts';
import { type Backends, functionPart } from '../../../infra/local/parts.ts';
import { freePorts } from '../../../infra/local/ports.ts';
import { messageOf } from '../../../shared/errors.ts';
import { Deployment } from '../../../shared/kube/builtin.ts';
import { encode } from '../../../shared/message/codec.ts';
import { functionRules } from '../../../shared/reconcile/permissions.ts';
import { Door } from '../../support/door.ts';
import { until } from '../../support/until.ts';
import type { Claim } from '../claim.ts';
import type { Proving, SharedStack } from '../shared-stack.ts';

const ROUNDS = 10;
const NAME = 'handed-over';
const SLOW = 'reconcile-slow';

/** A second instance, whose way to the API server goes quiet in the middle of a run, is told to end. */
export function handoverClaim(shared: SharedStack): Claim {
  return {
    id: 'handover',
    text: 'SIGTERM during a run: another instance carries the object on',
    floor: `${ROUNDS} of ${ROUNDS}: what the first one had begun is done by another within 1 s`,
    async run({ say }) {
      const proving = await shared.get(say);
      const { stack, webApps, lines } = proving;
      const door = await Door.open(Number(new URL(stack.controlPlane.server).port));
      try {
        const port = await startSlow(proving, `https://${door.host}`);
        await webApps.apply(NAME, { image: 'nginx:0' });
        await webApps.untilReady(NAME);
        const took: number[] = [];
        for (let round = 1; round <= ROUNDS; round++) {
          door.freeze();
          const claimed = claims(lines);
          const answered = push(port, round);
          await until('the slow instance has the object', async () => claims(lines) > claimed);
          const image = `nginx:${round}`;
          await webApps.apply(NAME, { image });
          stack.supervisor.kill(SLOW, 'SIGTERM');
          const toldAt = performance.now();
          await until(
            'another instance has carried it on',
            async () => {
              const deployment = await webApps.child(Deployment, NAME);
              return deployment?.spec?.template.spec?.containers[0]?.image === image;
            },
            { everyMs: 5 },
          );
          took.push(performance.now() - toldAt);
          say(`round ${round}: done ${Math.round(took.at(-1) ?? 0)} ms after SIGTERM; its message: ${await answered}`);
          door.thaw();
          await webApps.untilReady(NAME);
        }
        const slowest = Math.max(...took);
        return {
          measured: `${took.length} of ${ROUNDS}, the slowest after ${Math.round(slowest)} ms`,
          ok: slowest <= 1_000,
        };
      } finally {
        await door.shut();
      }
    },
  };
}

/** @returns its port, once it can take messages */
async function startSlow({ stack }: Proving, server: string): Promise<number> {
  const { name, namespace } = { name: 'driftless-functions', namespace: 'driftless-system' };
  const rules = functionRules(controllers);
  const access = await readFile(
    await stack.controlPlane.issueKubeconfig({ name, namespace, serviceAccount: name, rules }),
    'utf8',
  );
  const kubeconfig = join(stack.supervisor.directory, 'slow.kubeconfig');
  await writeFile(kubeconfig, access.replaceAll(stack.controlPlane.server, server), { mode: 0o600 });
  const [port = 0] = await freePorts(1);
  const { KUBECONFIG: _, ...backends } = parseEnv(await readFile(stack.envFile, 'utf8'));
  await stack.supervisor.start(
    functionPart({ name: SLOW, target: 'reconcile', port, backends: backends as Backends, kubeconfig, strict: false }),
  );
  return port;
}

/** Sends it as soon as the instance is back from its last end. @returns the status of the answer */
async function push(port: number, round: number): Promise<string> {
  const key = {
    cluster: 'local',
    controller: 'webapp',
    group: WebApp.group,
    kind: WebApp.kind,
    namespace: 'default',
    name: NAME,
  };
  const { data, attributes } = encode({ key, news: { kind: 'unknown' }, trigger: 'test' });
  const message = { data: Buffer.from(data).toString('base64'), attributes, messageId: `slow-${round}` };
  const body = JSON.stringify({ message, subscription: 'projects/demo-driftless/subscriptions/driftless-changes' });
  const headers = { 'content-type': 'application/json' };
  let status = '';
  await until('the slow instance takes messages', async () => {
    try {
      status = String((await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status);
    } catch (error) {
      status = messageOf(error);
    }
    return status !== 'fetch failed';
  });
  return status;
}

function claims(lines: Proving['lines']): number {
  return lines.filter(({ part, line }) => part === SLOW && line.includes('"claimed"')).length;
}
