import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Deployment, Ingress, Service } from '../../../shared/kube/builtin.ts';
import type { ObjectOf } from '../../../shared/kube/kind.ts';
import { deploymentReadiness } from '../../../shared/readiness/deployment.ts';
import { ingressReadiness } from '../../../shared/readiness/ingress.ts';
import { type Readiness, worstState } from '../../../shared/readiness/readiness.ts';
import { serviceReadiness } from '../../../shared/readiness/service.ts';

interface Case<T> {
  readonly when: string;
  readonly child: T | undefined;
  readonly expected: Readiness;
}

type DeploymentStatus = NonNullable<ObjectOf<typeof Deployment>['status']>;

const DEADLINE_EXCEEDED = {
  conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
} satisfies DeploymentStatus;

const MISSING: Readiness = { state: 'missing', message: 'it does not exist yet' };

describe('R10: a Deployment is ready when it runs what its spec says, and nothing else', () => {
  const cases: readonly Case<ObjectOf<typeof Deployment>>[] = [
    { when: 'it does not exist', child: undefined, expected: MISSING },
    {
      when: 'its controller has not reported',
      child: deployment({ generation: 1, replicas: 3 }),
      expected: { state: 'unobserved', message: 'its controller has not reported yet' },
    },
    {
      when: 'its controller has reported on an older generation only, though with all replicas',
      child: deployment({ generation: 2, replicas: 3 }, status(1, 3, 3, 3)),
      expected: { state: 'progressing', message: 'its controller has not seen the latest change yet' },
    },
    {
      when: 'an older generation failed and the new one is not observed',
      child: deployment({ generation: 2, replicas: 3 }, { ...status(1, 3, 1, 1), ...DEADLINE_EXCEEDED }),
      expected: { state: 'progressing', message: 'its controller has not seen the latest change yet' },
    },
    {
      when: 'nothing runs yet',
      child: deployment({ generation: 1, replicas: 3 }, { observedGeneration: 1 }),
      expected: { state: 'progressing', message: '0 of 3 replicas are updated and available' },
    },
    {
      when: 'some replicas are updated',
      child: deployment({ generation: 2, replicas: 3 }, status(2, 4, 1, 3)),
      expected: { state: 'progressing', message: '1 of 3 replicas are updated and available' },
    },
    {
      when: 'all are updated and some available',
      child: deployment({ generation: 2, replicas: 3 }, status(2, 3, 3, 2)),
      expected: { state: 'progressing', message: '2 of 3 replicas are updated and available' },
    },
    {
      when: 'all are available and an older one still runs',
      child: deployment({ generation: 2, replicas: 3 }, status(2, 4, 3, 4)),
      expected: { state: 'progressing', message: '3 of 3 replicas are updated and available, and 1 more must stop' },
    },
    {
      when: 'all are available',
      child: deployment({ generation: 2, replicas: 3 }, status(2, 3, 3, 3)),
      expected: { state: 'ready', message: '3 of 3 replicas are available' },
    },
    {
      when: 'the rollout has passed its deadline',
      child: deployment({ generation: 2, replicas: 3 }, { ...status(2, 3, 1, 1), ...DEADLINE_EXCEEDED }),
      expected: {
        state: 'failed',
        message: "1 of 3 replicas are updated and available, and the rollout's deadline has passed",
      },
    },
    {
      when: 'it is scaled to nothing',
      child: deployment({ generation: 3, replicas: 0 }, { observedGeneration: 3 }),
      expected: { state: 'ready', message: '0 of 0 replicas are available' },
    },
    {
      when: 'it is being scaled to nothing',
      child: deployment({ generation: 3, replicas: 0 }, status(3, 2, 2, 2)),
      expected: { state: 'progressing', message: '0 of 0 replicas are updated and available, and 2 more must stop' },
    },
  ];
  table('Deployment', cases, deploymentReadiness);
});

describe('R10: a Service is ready when it can be reached', () => {
  const cases: readonly Case<ObjectOf<typeof Service>>[] = [
    { when: 'it does not exist', child: undefined, expected: MISSING },
    {
      when: 'it has no address',
      child: service({}),
      expected: { state: 'progressing', message: 'it has no cluster IP yet' },
    },
    {
      when: 'it has an address',
      child: service({ clusterIP: '10.0.0.7' }),
      expected: { state: 'ready', message: 'it has the cluster IP 10.0.0.7' },
    },
    {
      when: 'it is headless',
      child: service({ clusterIP: 'None' }),
      expected: { state: 'ready', message: 'it has the cluster IP None' },
    },
  ];
  table('Service', cases, serviceReadiness);
});

describe('R10: an Ingress is ready when a load balancer serves it', () => {
  const WAITING: Readiness = { state: 'progressing', message: 'no ingress controller has given it an address yet' };
  const cases: readonly Case<ObjectOf<typeof Ingress>>[] = [
    { when: 'it does not exist', child: undefined, expected: MISSING },
    { when: 'nobody has looked at it', child: ingress(undefined), expected: WAITING },
    { when: 'it has an entry without an address', child: ingress([{}]), expected: WAITING },
    {
      when: 'it has an IP',
      child: ingress([{ ip: '203.0.113.7' }]),
      expected: { state: 'ready', message: 'it has the address 203.0.113.7' },
    },
    {
      when: 'it has a name',
      child: ingress([{ hostname: 'lb.example.com' }]),
      expected: { state: 'ready', message: 'it has the address lb.example.com' },
    },
  ];
  table('Ingress', cases, ingressReadiness);
});

describe('R10: readiness propagates', () => {
  it('makes a whole as bad as its worst part', () => {
    const ready = { state: 'ready', message: '' } as const;
    assert.equal(worstState([]), 'ready');
    assert.equal(worstState([ready, ready]), 'ready');
    assert.equal(worstState([ready, { state: 'progressing', message: '' }]), 'progressing');
    assert.equal(
      worstState([
        { state: 'unobserved', message: '' },
        { state: 'progressing', message: '' },
      ]),
      'unobserved',
    );
    assert.equal(
      worstState([
        { state: 'missing', message: '' },
        { state: 'unobserved', message: '' },
      ]),
      'missing',
    );
    assert.equal(
      worstState([
        { state: 'failed', message: '' },
        { state: 'missing', message: '' },
      ]),
      'failed',
    );
  });
});

function table<T>(kind: string, cases: readonly Case<T>[], rule: (child: T | undefined) => Readiness): void {
  for (const { when, child, expected } of cases) {
    it(`calls a ${kind} ${expected.state} when ${when}`, () => assert.deepEqual(rule(child), expected));
  }
}

function status(
  observedGeneration: number,
  replicas: number,
  updatedReplicas: number,
  availableReplicas: number,
): DeploymentStatus {
  return { observedGeneration, replicas, updatedReplicas, availableReplicas };
}

function deployment(
  { generation, replicas }: { readonly generation: number; readonly replicas: number },
  reported?: DeploymentStatus,
): ObjectOf<typeof Deployment> {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default', generation },
    spec: { replicas, selector: {}, template: {} },
    ...(reported === undefined ? {} : { status: reported }),
  };
}

function service(spec: NonNullable<ObjectOf<typeof Service>['spec']>): ObjectOf<typeof Service> {
  return { apiVersion: 'v1', kind: 'Service', metadata: { name: 'web', namespace: 'default' }, spec };
}

function ingress(
  addresses: readonly { readonly ip?: string; readonly hostname?: string }[] | undefined,
): ObjectOf<typeof Ingress> {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace: 'default' },
    status: { loadBalancer: addresses === undefined ? {} : { ingress: addresses } },
  };
}
