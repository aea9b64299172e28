import { Deployment, Ingress, Service } from '../../../shared/kube/builtin.ts';
import type { Kind } from '../../../shared/kube/kind.ts';
import { kubectl } from '../../support/kubectl.ts';
import { until } from '../../support/until.ts';
import type { Claim } from '../claim.ts';
import type { SharedStack } from '../shared-stack.ts';

const NAME = 'repaired';

/** What a person does to a child by hand, and how to see that it was undone. */
const HARM: readonly {
  readonly what: string;
  readonly args: readonly string[];
  readonly kind: Kind;
  readonly right: (o: unknown) => boolean;
}[] = [
  {
    what: 'Deployment scaled',
    args: ['scale', 'deployment', NAME, '--replicas=7'],
    kind: Deployment,
    right: at('spec.replicas', 2),
  },
  {
    what: 'image set',
    args: ['set', 'image', `deployment/${NAME}`, 'web=evil:1'],
    kind: Deployment,
    right: at('spec.template.spec.containers.0.image', 'nginx:1.27'),
  },
  {
    what: 'Service port patched',
    args: [
      'patch',
      'service',
      NAME,
      '--type=json',
      '-p',
      '[{"op":"replace","path":"/spec/ports/0/targetPort","value":1}]',
    ],
    kind: Service,
    right: at('spec.ports.0.targetPort', 'http'),
  },
  {
    what: 'Ingress label changed',
    args: ['label', 'ingress', NAME, 'app.kubernetes.io/managed-by=me', '--overwrite'],
    kind: Ingress,
    right: at('metadata.labels.app\\.kubernetes\\.io/managed-by', 'driftless'),
  },
  { what: 'Deployment deleted', args: ['delete', 'deployment', NAME], kind: Deployment, right: (o) => o !== undefined },
  { what: 'Service deleted', args: ['delete', 'service', NAME], kind: Service, right: (o) => o !== undefined },
  { what: 'Ingress deleted', args: ['delete', 'ingress', NAME], kind: Ingress, right: (o) => o !== undefined },
];

export function repairClaim(shared: SharedStack): Claim {
  return {
    id: 'repair',
    text: 'A hand-made change of a child is repaired: scaled, edited, relabelled, deleted',
    floor: `${HARM.length} of ${HARM.length} repaired`,
    async run({ say }) {
      const { stack, webApps } = await shared.get(say);
      await webApps.apply(NAME, { replicas: 2, host: 'repaired.example.com' });
      await webApps.untilReady(NAME);
      const took: number[] = [];
      for (const { what, args, kind, right } of HARM) {
        const { code, stderr } = await kubectl(stack.controlPlane.kubeconfig, args);
        if (code !== 0) throw new Error(`kubectl ${args.join(' ')}: ${stderr}`);
        const ms = await until(what, async () => right(await webApps.child(kind, NAME)));
        took.push(ms);
        say(`${what}: right again ${Math.round(ms)} ms after kubectl returned`);
      }
      await webApps.untilReady(NAME);
      const slowest = Math.round(Math.max(...took));
      return { measured: `${took.length} of ${HARM.length} repaired, the slowest in ${slowest} ms`, ok: true };
    },
  };
}

/** Whether a path (dots between steps, `\\.` for a dot in one) leads to this value. */
function at(path: string, value: unknown): (object: unknown) => boolean {
  const steps = path.split(/(?<!\\)\./).map((step) => step.replaceAll('\\.', '.'));
  return (object) =>
    steps.reduce<unknown>((o, step) => (o as Readonly<Record<string, unknown>> | undefined)?.[step], object) === value;
}
