import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { webApp } from '../../../functions/controllers/webapp/controller.ts';
import type { WebApp } from '../../../functions/controllers/webapp/kind.ts';
import type { Deployment, Ingress, Service } from '../../../shared/kube/builtin.ts';
import type { ObjectOf } from '../../../shared/kube/kind.ts';
import type { KubeObject, Stored } from '../../../shared/kube/object.ts';
import { Children } from '../../../shared/reconcile/children.ts';
import type { Plan } from '../../../shared/reconcile/controller.ts';

type DeploymentStatus = NonNullable<ObjectOf<typeof Deployment>['status']>;

const ALL = {
  observedGeneration: 1,
  replicas: 3,
  updatedReplicas: 3,
  availableReplicas: 3,
  readyReplicas: 3,
} satisfies DeploymentStatus;

const anyDeploymentStatus: fc.Arbitrary<DeploymentStatus> = fc
  .record({
    observedGeneration: fc.integer({ min: 1, max: 2 }),
    replicas: fc.integer({ min: 3, max: 4 }),
    updatedReplicas: fc.integer({ min: 2, max: 3 }),
    availableReplicas: fc.integer({ min: 2, max: 4 }),
  })
  .filter(({ updatedReplicas, replicas }) => updatedReplicas <= replicas);

describe('R50: what a WebApp is made of', () => {
  it('makes a Deployment that runs the image', () => {
    assert.deepEqual(childOf(planFor(app()), 'Deployment'), {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: {
        name: 'web',
        labels: {
          'app.kubernetes.io/name': 'webapp',
          'app.kubernetes.io/instance': 'web',
          'app.kubernetes.io/managed-by': 'driftless',
        },
      },
      spec: {
        replicas: 3,
        selector: { matchLabels: { 'app.kubernetes.io/name': 'webapp', 'app.kubernetes.io/instance': 'web' } },
        template: {
          metadata: {
            labels: {
              'app.kubernetes.io/name': 'webapp',
              'app.kubernetes.io/instance': 'web',
              'app.kubernetes.io/managed-by': 'driftless',
            },
          },
          spec: {
            containers: [
              {
                name: 'web',
                image: 'nginx:1.29',
                ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
              },
            ],
          },
        },
      },
    });
  });

  it('makes a Service on port 80', () => {
    assert.deepEqual(childOf(planFor(app()), 'Service')['spec'], {
      selector: { 'app.kubernetes.io/name': 'webapp', 'app.kubernetes.io/instance': 'web' },
      ports: [{ name: 'http', port: 80, targetPort: 'http', protocol: 'TCP' }],
    });
  });

  it('makes an Ingress only for a host', () => {
    assert.deepEqual(
      planFor(app()).children.map(({ kind }) => kind),
      ['Deployment', 'Service'],
    );
    assert.deepEqual(childOf(planFor(app({ host: 'web.example.com' })), 'Ingress')['spec'], {
      rules: [
        {
          host: 'web.example.com',
          http: {
            paths: [{ path: '/', pathType: 'Prefix', backend: { service: { name: 'web', port: { name: 'http' } } } }],
          },
        },
      ],
    });
  });

  it('serves the host over TLS when a Secret is named', () => {
    const { spec } = childOf(planFor(app({ host: 'web.example.com', tlsSecretName: 'cert' })), 'Ingress') as ObjectOf<
      typeof Ingress
    >;
    assert.deepEqual(spec?.tls, [{ hosts: ['web.example.com'], secretName: 'cert' }]);
  });

  it('says where it is served', () => {
    assert.equal(planFor(app()).status['url'], 'http://web.default.svc');
    assert.equal(planFor(app({ host: 'web.example.com' })).status['url'], 'http://web.example.com');
    assert.equal(
      planFor(app({ host: 'web.example.com', tlsSecretName: 'cert' })).status['url'],
      'https://web.example.com',
    );
  });
});

describe('R50: what a WebApp says about itself', () => {
  const table: readonly {
    readonly when: string;
    readonly spec?: Partial<WebApp['spec']>;
    readonly was?: string;
    readonly children: readonly Stored[];
    readonly phase: string;
    readonly ready: readonly [status: string, reason: string, message: string];
  }[] = [
    {
      when: 'nothing exists yet',
      children: [],
      phase: 'Pending',
      ready: ['False', 'ChildMissing', 'Deployment web: it does not exist yet. Service web: it does not exist yet.'],
    },
    {
      when: 'the children were just made',
      children: [deployment({ generation: 1 }), service()],
      phase: 'Pending',
      ready: ['False', 'Progressing', 'Deployment web: its controller has not reported yet.'],
    },
    {
      when: 'it rolls out',
      children: [
        deployment({ generation: 1 }, { observedGeneration: 1, updatedReplicas: 3, availableReplicas: 1 }),
        service(),
      ],
      phase: 'Running',
      ready: ['False', 'Progressing', 'Deployment web: 1 of 3 replicas are updated and available.'],
    },
    {
      when: 'all is there',
      children: [deployment({ generation: 1 }, ALL), service()],
      phase: 'Ready',
      ready: ['True', 'Ready', '3 of 3 replicas are available; the Service is in place.'],
    },
    {
      when: 'the Deployment is of an older generation',
      was: 'Ready',
      children: [deployment({ generation: 2 }, ALL), service()],
      phase: 'Running',
      ready: ['False', 'Progressing', 'Deployment web: its controller has not seen the latest change yet.'],
    },
    {
      when: 'the Service was deleted by hand',
      was: 'Ready',
      children: [deployment({ generation: 1 }, ALL)],
      phase: 'Running',
      ready: ['False', 'ChildMissing', 'Service web: it does not exist yet.'],
    },
    {
      when: 'the Deployment was made anew and nobody reports on it',
      was: 'Ready',
      children: [deployment({ generation: 1 }), service()],
      phase: 'Unknown',
      ready: ['False', 'Progressing', 'Deployment web: its controller has not reported yet.'],
    },
    {
      when: 'the rollout has failed',
      was: 'Running',
      children: [
        deployment(
          { generation: 1 },
          {
            observedGeneration: 1,
            conditions: [{ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }],
          },
        ),
        service(),
      ],
      phase: 'Failed',
      ready: [
        'False',
        'ProgressDeadlineExceeded',
        "Deployment web: 0 of 3 replicas are updated and available, and the rollout's deadline has passed.",
      ],
    },
    {
      when: 'it is scaled to nothing',
      spec: { replicas: 0 },
      children: [deployment({ generation: 1, replicas: 0 }, { observedGeneration: 1 }), service()],
      phase: 'Ready',
      ready: ['True', 'Ready', '0 of 0 replicas are available; the Service is in place.'],
    },
    {
      when: 'a host was added and the Ingress is not made',
      spec: { host: 'web.example.com' },
      was: 'Ready',
      children: [deployment({ generation: 1 }, ALL), service()],
      phase: 'Running',
      ready: ['False', 'ChildMissing', 'Ingress web: it does not exist yet.'],
    },
    {
      when: 'nobody serves the Ingress',
      spec: { host: 'web.example.com' },
      children: [deployment({ generation: 1 }, ALL), service(), ingress()],
      phase: 'Running',
      ready: ['False', 'Progressing', 'Ingress web: no ingress controller has given it an address yet.'],
    },
    {
      when: 'all is there, with an Ingress',
      spec: { host: 'web.example.com' },
      children: [deployment({ generation: 1 }, ALL), service(), ingress('203.0.113.7')],
      phase: 'Ready',
      ready: ['True', 'Ready', '3 of 3 replicas are available; the Service and the Ingress are in place.'],
    },
  ];

  for (const { when, spec = {}, was, children, phase, ready } of table) {
    it(`is ${phase} when ${when}`, () => {
      const made = planFor(app(spec, was), children);
      const claim = made.conditions.find(({ type }) => type === 'Ready');
      assert.deepEqual([claim?.status, claim?.reason, claim?.message], ready);
      assert.equal(made.status['phase'], phase);
      assert.deepEqual(made.result, { kind: 'awaitChange' });
    });
  }

  it('R6: is Available during a rollout, while old replicas still serve', () => {
    const rolling = { observedGeneration: 2, replicas: 4, updatedReplicas: 1, availableReplicas: 4, readyReplicas: 4 };
    const made = planFor(app(), [deployment({ generation: 2 }, rolling), service()]);
    assert.deepEqual(
      made.conditions.map(({ type, status }) => [type, status]),
      [
        ['Ready', 'False'],
        ['Available', 'True'],
      ],
    );
    assert.equal(made.conditions[1]?.message, '4 replicas are available; 3 are wanted.');
    assert.equal(made.status['readyReplicas'], 4);
  });

  it('R3: plans the same from the same input, whatever was reported', () => {
    fc.assert(
      fc.property(anyDeploymentStatus, fc.boolean(), (status, hasService) => {
        const children = [deployment({ generation: 2 }, status), ...(hasService ? [service()] : [])];
        assert.deepEqual(planFor(app(), children), planFor(app(), children));
      }),
    );
  });

  it('never claims Ready for less than it wants', () => {
    fc.assert(
      fc.property(anyDeploymentStatus, fc.boolean(), fc.boolean(), (status, hasService, hasIngress) => {
        const made = planFor(app({ host: 'web.example.com' }), [
          deployment({ generation: 2 }, status),
          ...(hasService ? [service()] : []),
          ...(hasIngress ? [ingress('203.0.113.7')] : []),
        ]);
        const allThere =
          hasService &&
          hasIngress &&
          status.observedGeneration === 2 &&
          status.replicas === 3 &&
          status.updatedReplicas === 3 &&
          (status.availableReplicas ?? 0) >= 3;
        assert.equal(made.conditions[0]?.status, allThere ? 'True' : 'False');
      }),
    );
  });
});

function planFor(object: Stored<WebApp>, children: readonly Stored[] = []): Plan {
  return webApp.plan({ object, children: new Children(children), now: 0 });
}

function childOf(made: Plan, kind: string): KubeObject {
  const child = made.children.find((candidate) => candidate.kind === kind);
  assert(child !== undefined, `no ${kind} was planned`);
  return child;
}

function app(spec: Partial<WebApp['spec']> = {}, phase?: string): Stored<WebApp> {
  return {
    apiVersion: 'apps.driftless.dev/v1',
    kind: 'WebApp',
    metadata: { name: 'web', namespace: 'default', uid: 'u-app', resourceVersion: '1', generation: 1 },
    spec: { image: 'nginx:1.29', replicas: 3, port: 8080, ...spec },
    // A status holds what was stored, by whatever build.
    ...(phase === undefined ? {} : { status: { phase: phase as 'Ready' } }),
  };
}

function deployment(
  { generation, replicas = 3 }: { readonly generation: number; readonly replicas?: number },
  status?: DeploymentStatus,
): Stored<ObjectOf<typeof Deployment>> {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default', uid: 'u-deployment', resourceVersion: '2', generation },
    spec: { replicas, selector: {}, template: {} },
    ...(status === undefined ? {} : { status }),
  };
}

function service(): Stored<ObjectOf<typeof Service>> {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default', uid: 'u-service', resourceVersion: '3' },
    spec: { clusterIP: '10.0.0.7' },
  };
}

function ingress(ip?: string): Stored<ObjectOf<typeof Ingress>> {
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: 'web', namespace: 'default', uid: 'u-ingress', resourceVersion: '4', generation: 1 },
    status: { loadBalancer: { ingress: ip === undefined ? [] : [{ ip }] } },
  };
}
