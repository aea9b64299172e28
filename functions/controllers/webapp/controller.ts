import { Deployment, Ingress, Service } from '../../../shared/kube/builtin.ts';
import type { ConditionClaim } from '../../../shared/kube/conditions.ts';
import type { ObjectOf } from '../../../shared/kube/kind.ts';
import { deploymentReadiness } from '../../../shared/readiness/deployment.ts';
import { ingressReadiness } from '../../../shared/readiness/ingress.ts';
import { nextPhase } from '../../../shared/readiness/phase.ts';
import { type Readiness, type ReadinessState, worstState } from '../../../shared/readiness/readiness.ts';
import { serviceReadiness } from '../../../shared/readiness/service.ts';
import { defineController, type Plan, type PlanInput, plan } from '../../../shared/reconcile/controller.ts';
import { awaitChange } from '../../../shared/reconcile/result.ts';
import { deployment, ingress, service } from './children.ts';
import { WebApp } from './kind.ts';

/** Keeps a Deployment, a Service and, with a host, an Ingress for each WebApp. */
export const webApp = defineController({
  kind: WebApp,
  owns: [Deployment, Service, Ingress],
  plan: planWebApp,
});

function planWebApp({ object, children }: PlanInput<WebApp>): Plan {
  const { name } = object.metadata;
  const wantedIngress = ingress(object);
  const observed = children.get(Deployment, name);

  const parts: readonly Part[] = [
    { kind: 'Deployment', ...deploymentReadiness(observed) },
    { kind: 'Service', ...serviceReadiness(children.get(Service, name)) },
    ...(wantedIngress === undefined
      ? []
      : [{ kind: 'Ingress', ...ingressReadiness(children.get(Ingress, name)) } as const]),
  ];
  const state = worstState(parts);

  return plan({
    children: [deployment(object), service(object), ...(wantedIngress === undefined ? [] : [wantedIngress])],
    status: {
      phase: nextPhase(object.status?.phase, state),
      readyReplicas: observed?.status?.readyReplicas ?? 0,
      url: urlOf(object),
    },
    conditions: [ready(name, parts, state), available(object, observed)],
    result: awaitChange(),
  });
}

interface Part extends Readiness {
  readonly kind: 'Deployment' | 'Service' | 'Ingress';
}

function urlOf({ metadata, spec }: WebApp): string {
  if (spec.host === undefined) return `http://${metadata.name}.${metadata.namespace ?? 'default'}.svc`;
  return spec.tlsSecretName === undefined ? `http://${spec.host}` : `https://${spec.host}`;
}

const REASONS: Readonly<Record<ReadinessState, string>> = {
  ready: 'Ready',
  progressing: 'Progressing',
  unobserved: 'Progressing',
  missing: 'ChildMissing',
  failed: 'ProgressDeadlineExceeded',
};

/** Everything is as the spec says. */
function ready(name: string, parts: readonly Part[], state: ReadinessState): ConditionClaim {
  const waiting = parts.filter((part) => part.state !== 'ready');
  return {
    type: 'Ready',
    status: state === 'ready' ? 'True' : 'False',
    reason: REASONS[state],
    message: state === 'ready' ? readyMessage(parts) : waiting.map((p) => `${p.kind} ${name}: ${p.message}.`).join(' '),
  };
}

function readyMessage([main, ...others]: readonly Part[]): string {
  const kinds = others.map(({ kind }) => `the ${kind}`).join(' and ');
  return `${main?.message}; ${kinds} ${others.length === 1 ? 'is' : 'are'} in place.`;
}

/** Somebody is served, be it by an older version. */
function available({ spec }: WebApp, observed: ObjectOf<typeof Deployment> | undefined): ConditionClaim {
  const replicas = observed?.status?.availableReplicas ?? 0;
  return {
    type: 'Available',
    status: replicas > 0 ? 'True' : 'False',
    reason: replicas > 0 ? 'ReplicasAvailable' : 'NoReplicas',
    message: `${replicas} replicas are available; ${spec.replicas} are wanted.`,
  };
}
