import { until } from '../../support/until.ts';
import type { Claim } from '../claim.ts';
import type { SharedStack } from '../shared-stack.ts';

const CHANGES = 200;
const OBJECTS = 10;

/**
 * From the API server's answer to a change until the status tells that it was carried out, polled every few ms. The
 * official Pub/Sub emulator alone takes some 30 ms to hand over a message.
 */
export function latencyClaim(shared: SharedStack): Claim {
  return {
    id: 'latency',
    text: `Event → status over ${CHANGES} changes of ${OBJECTS} WebApps, and the memory of each process`,
    floor: 'every change reaches the status; p99 ≤ 2 s',
    async run({ say }) {
      const { stack, webApps } = await shared.get(say);
      const names = Array.from({ length: OBJECTS }, (_, i) => `fast-${i}`);
      for (const name of names) await webApps.apply(name, { host: `${name}.example.com` });
      for (const name of names) await webApps.untilReady(name);
      const took: number[] = [];
      for (let i = 0; i < CHANGES; i++) {
        const name = names[i % OBJECTS] ?? '';
        const host = `${name}-${i}.example.com`;
        const { metadata } = await webApps.apply(name, { host });
        const done = async (): Promise<boolean> => {
          const status = (await webApps.get(name))?.status;
          return status?.observedGeneration === metadata.generation && status?.url === `http://${host}`;
        };
        took.push(await until(`the status of ${name} tells the change`, done, { everyMs: 2 }));
      }
      took.sort((a, b) => a - b);
      const [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1].map((q) => Math.round(took[Math.ceil(q * CHANGES) - 1] ?? 0));
      const memory = Object.entries(await stack.supervisor.memory())
        .map(([part, mib]) => `${part} ${Math.round(mib)}`)
        .join(', ');
      const started = Object.entries(stack.startedInMs)
        .map(([part, ms]) => `${part} ${(ms / 1000).toFixed(1)}`)
        .join(', ');
      return {
        measured: `p50 ${p50} ms, p90 ${p90} ms, p99 ${p99} ms, max ${max} ms; MiB: ${memory}; s to ready: ${started}`,
        ok: (p99 ?? Number.POSITIVE_INFINITY) <= 2_000,
      };
    },
  };
}
