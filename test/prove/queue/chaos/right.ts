import { Deployment, Ingress, Service } from '../../../../shared/kube/builtin.ts';
import { isTrue } from '../../../../shared/kube/conditions.ts';
import type { WorkItem } from '../../../../shared/queue/work-item.ts';
import type { WebApps } from '../../../support/web-apps.ts';
import { LABEL, type Spec } from './load.ts';

/** What is not as the last spec says about one WebApp, its children, or its status; undefined when all is. */
export async function wrongWith(webApps: WebApps, name: string, spec: Spec | undefined): Promise<string | undefined> {
  const [webApp, deployment, service, ingress] = await Promise.all([
    webApps.get(name),
    webApps.child(Deployment, name),
    webApps.child(Service, name),
    webApps.child(Ingress, name),
  ]);
  if (spec === undefined) {
    const left = [webApp, deployment, service, ingress].flatMap((object) => object?.kind ?? []);
    return left.length === 0 ? undefined : `${name} is deleted, and there is still its ${left.join()}`;
  }
  const container = deployment?.spec?.template.spec?.containers[0];
  const { status, metadata } = webApp ?? {};
  const found = {
    spec: webApp?.spec,
    image: container?.image,
    port: container?.ports?.[0]?.containerPort,
    replicas: deployment?.spec?.replicas,
    service: service?.metadata.labels?.[LABEL],
    host: ingress?.spec?.rules?.[0]?.host,
    ingress: ingress?.metadata.labels?.[LABEL],
    ready: isTrue(status?.conditions, 'Ready', metadata?.generation),
    phase: status?.phase,
    generation: status?.observedGeneration === metadata?.generation,
    url: status?.url,
  };
  const { image, port, replicas, host } = spec;
  const wanted: typeof found = {
    spec,
    image,
    port,
    replicas,
    service: 'driftless',
    host,
    ingress: host === undefined ? undefined : 'driftless',
    ready: true,
    phase: 'Ready',
    generation: true,
    url: host === undefined ? `http://${name}.default.svc` : `http://${host}`,
  };
  const wrong = Object.keys(found).filter((field) => differ(found, wanted, field as keyof typeof found));
  return wrong.length === 0 ? undefined : `${name} has the wrong ${wrong.join()}`;
}

function differ<T extends object>(a: T, b: T, field: keyof T): boolean {
  const [x, y] = [a[field], b[field]].map((value) =>
    typeof value === 'object' && value !== null ? JSON.stringify(Object.entries(value).sort()) : value,
  );
  return x !== y;
}

/** Which work items are held, stopped, or of nobody. */
export function wrongItems(items: readonly WorkItem[], wanted: ReadonlyMap<string, unknown>): readonly string[] {
  return items.flatMap(({ key: { name }, lease, quarantine }) => {
    if (wanted.get(name) === undefined) return [`there is still an item of ${name}`];
    if (lease !== null) return [`the item of ${name} is held`];
    return quarantine === null ? [] : [`the item of ${name} is quarantined`];
  });
}
