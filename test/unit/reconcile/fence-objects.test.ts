import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fenceObjects } from '../../../shared/reconcile/fence-objects.ts';
import { functionRules } from '../../../shared/reconcile/permissions.ts';
import { widgetController } from '../../support/objects.ts';

const controller = widgetController();
const objects = fenceObjects([controller]).map(({ object }) => object);
const content = (kind: string, name: string): Readonly<Record<string, unknown>> =>
  objects.find((object) => object.kind === kind && object.metadata.name === name) ?? {};
const subjectsOf = (kind: string, name: string) => content(kind, name)['subjects'];

describe('what strict mode needs in a cluster', () => {
  it('R22: names the namespace first, so that the objects can be applied in order', () => {
    assert.deepEqual(
      objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      [
        'Namespace driftless-system',
        'ConfigMap driftless-fence',
        'ValidatingAdmissionPolicy driftless-fence',
        'ValidatingAdmissionPolicyBinding driftless-fence',
        'ClusterRole driftless-worker',
        'ClusterRoleBinding driftless-worker',
        'ClusterRole driftless-impersonation',
        'ClusterRoleBinding driftless-impersonation',
        'Role driftless-fence',
        'RoleBinding driftless-fence',
      ],
    );
  });

  it('R22: grants the work to the user that the policy watches, and to nobody else', () => {
    assert.deepEqual(content('ClusterRole', 'driftless-worker')['rules'], functionRules([controller]));
    assert.deepEqual(subjectsOf('ClusterRoleBinding', 'driftless-worker'), [
      { kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'driftless-worker' },
    ]);
  });

  it('R22: lets the functions’ account act as that user, write the fence, and do nothing else', () => {
    const account = [{ kind: 'ServiceAccount', name: 'driftless-functions', namespace: 'driftless-system' }];
    assert.deepEqual(subjectsOf('ClusterRoleBinding', 'driftless-impersonation'), account);
    assert.deepEqual(content('ClusterRole', 'driftless-impersonation')['rules'], [
      { apiGroups: [''], resources: ['users'], resourceNames: ['driftless-worker'], verbs: ['impersonate'] },
      { apiGroups: ['authentication.k8s.io'], resources: ['userextras/driftless-holder'], verbs: ['impersonate'] },
    ]);
    assert.deepEqual(subjectsOf('RoleBinding', 'driftless-fence'), account);
    assert.deepEqual(content('Role', 'driftless-fence')['rules'], [
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['driftless-fence'], verbs: ['get', 'patch'] },
    ]);
  });

  it('R22: watches every kind that a controller writes, with its subresources', () => {
    const { spec } = content('ValidatingAdmissionPolicy', 'driftless-fence') as {
      spec: { matchConstraints: { resourceRules: { apiGroups: string[]; resources: string[] }[] } };
    };
    assert.deepEqual(
      spec.matchConstraints.resourceRules.map(({ apiGroups, resources }) => [...apiGroups, ...resources].join(' ')),
      [
        'test.driftless.dev widgets widgets/*',
        ' configmaps configmaps/* secrets secrets/* services services/*',
        'apps deployments deployments/*',
        'rbac.authorization.k8s.io clusterroles clusterroles/*',
        ' configmaps',
      ],
    );
  });
});
