import { WebApp } from '../../functions/controllers/webapp/kind.ts';
import type { KubernetesUser } from '../../shared/adapters/kubernetes/user.ts';
import { Deployment, Ingress, Service } from '../../shared/kube/builtin.ts';
import { isTrue } from '../../shared/kube/conditions.ts';
import type { Kind } from '../../shared/kube/kind.ts';
import { until } from './until.ts';

const KEY = { namespace: 'default', name: 'shop' };
const CHILDREN: readonly Kind[] = [Deployment, Service, Ingress];

/** What the steps act on, as a user would: through the API server only. */
export interface DemoWorld {
  readonly cluster: KubernetesUser;
  readonly signal: AbortSignal;
  /** The uid of the Service that was deleted by hand. */
  deletedUid: string | undefined;
}

export interface DemoStep {
  /** For the summary. */
  readonly name: string;
  readonly title: string;
  readonly done: string;
  readonly act: (world: DemoWorld) => Promise<void>;
  /** @throws {StepTimeoutError} when it does not come about */
  readonly untilDone: (world: DemoWorld) => Promise<void>;
  /** What the parts' story comes to in the end; it may be told a little after the cluster shows it. */
  readonly lastWords: string;
  /** After it there is nothing left to look at. */
  readonly endsTheStory?: boolean;
}

export function demoWorld(cluster: KubernetesUser, signal: AbortSignal): DemoWorld {
  return { cluster, signal, deletedUid: undefined };
}

export const DEMO_STEPS: readonly DemoStep[] = [
  {
    name: 'created, until Ready',
    title: 'A WebApp is created',
    done: 'It is Ready: a Deployment, a Service and an Ingress run for it.',
    act: (world) => applyWebApp(world, 'nginx:1.27'),
    untilDone: (world) => untilReady(world, 'nginx:1.27'),
    lastWords: 'settled, then idle',
  },
  {
    name: 'Service deleted, until repaired',
    title: 'Somebody deletes its Service by hand',
    done: 'The Service is back.',
    async act(world) {
      const service = await world.cluster.get(Service, KEY, world.signal);
      if (service === undefined) throw new Error('the Service is missing');
      world.deletedUid = service.metadata.uid;
      await world.cluster.delete(Service, KEY, world.signal);
    },
    untilDone: (world) =>
      until('the Service exists again', world.signal, async () => {
        const service = await world.cluster.get(Service, KEY, world.signal);
        return service !== undefined && service.metadata.uid !== world.deletedUid;
      }),
    lastWords: 'settled, then idle',
  },
  {
    name: 'image changed, until rolled out',
    title: 'Its image is changed',
    done: 'The new image is rolled out, and the WebApp is Ready again.',
    act: (world) => applyWebApp(world, 'nginx:1.29'),
    untilDone: (world) => untilReady(world, 'nginx:1.29'),
    lastWords: 'settled, then idle',
  },
  {
    name: 'deleted, until cleaned up',
    title: 'The WebApp is deleted',
    done: 'Nothing of it is left.',
    async act(world) {
      await world.cluster.delete(WebApp, KEY, world.signal);
    },
    untilDone: (world) =>
      until('all children are gone', world.signal, async () => {
        const left = await Promise.all(CHILDREN.map((kind) => world.cluster.get(kind, KEY, world.signal)));
        return left.every((child) => child === undefined);
      }),
    lastWords: 'then forgotten: the object is gone',
    endsTheStory: true,
  },
];

async function applyWebApp({ cluster, signal }: DemoWorld, image: string): Promise<void> {
  const webApp: WebApp = {
    apiVersion: 'apps.driftless.dev/v1',
    kind: 'WebApp',
    metadata: { ...KEY },
    spec: { image, replicas: 3, port: 8080, host: 'shop.example.com' },
  };
  await cluster.apply(WebApp, webApp, { fieldManager: 'driftless-demo', signal });
}

async function untilReady({ cluster, signal }: DemoWorld, image: string): Promise<void> {
  await until('the WebApp is Ready', signal, async () => {
    const [webApp, deployment] = await Promise.all([
      cluster.get(WebApp, KEY, signal),
      cluster.get(Deployment, KEY, signal),
    ]);
    if (webApp === undefined || deployment === undefined) return false;
    const ready = isTrue(webApp.status?.conditions, 'Ready', webApp.metadata.generation);
    return ready && deployment.spec?.template.spec?.containers[0]?.image === image;
  });
}
