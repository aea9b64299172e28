import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TerminalError } from '../../../shared/errors.ts';
import { desiredChildren } from '../../../shared/reconcile/desired.ts';
import { configMap, widget, widgetController } from '../../support/objects.ts';

const controller = widgetController();
const refusedWith = (code: string) => (error: unknown) => error instanceof TerminalError && error.code === code;

describe('desiredChildren', () => {
  it('R8: gives every child the namespace of its owner, and the owner as its controller', () => {
    const [child] = desiredChildren(controller, widget(), [configMap('a', { k: 'v' })]);
    assert.deepEqual(child?.object, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'a',
        namespace: 'default',
        ownerReferences: [
          {
            apiVersion: 'test.driftless.dev/v1',
            kind: 'Widget',
            name: 'w',
            uid: 'uid-w',
            controller: true,
            blockOwnerDeletion: true,
          },
        ],
      },
      data: { k: 'v' },
    });
  });

  it('P27: leaves behind what the server owns, so an observed child may be returned as desired', () => {
    const observed = {
      ...configMap('a', { k: 'v' }, { uid: 'u', resourceVersion: '5', managedFields: [{ manager: 'x' }] }),
      status: { phase: 'x' },
    };
    const [child] = desiredChildren(controller, widget(), [observed]);
    assert.deepEqual(Object.keys(child?.object.metadata ?? {}), ['name', 'namespace', 'ownerReferences']);
    assert.equal('status' in (child?.object ?? {}), false);
  });

  it('P31: sends a Secret as data, because the server would never release a key of stringData', () => {
    const secret = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 's' },
      data: { a: 'AA==' },
      stringData: { password: 'geheim' },
    };
    const [child] = desiredChildren(controller, widget(), [secret]);
    assert.deepEqual(child?.object['data'], { a: 'AA==', password: 'Z2VoZWlt' });
    assert.equal(child?.object['stringData'], undefined);
  });

  it('P82: refuses a child in another namespace than its owner', () => {
    assert.throws(
      () => desiredChildren(controller, widget(), [configMap('a', {}, { namespace: 'other' })]),
      refusedWith('CROSS_NAMESPACE_CHILD'),
    );
  });

  it('P82, P28: refuses cluster-scoped children of a namespaced owner, and a namespace on them', () => {
    const role = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name: 'r' } };
    const namespaced = { ...role, metadata: { name: 'r', namespace: 'default' } };
    assert.throws(() => desiredChildren(controller, widget(), [role]), refusedWith('CLUSTER_SCOPED_CHILD'));
    assert.throws(() => desiredChildren(controller, widget(), [namespaced]), refusedWith('NAMESPACED_CLUSTER_CHILD'));
  });

  it('refuses a kind that the controller does not own: nobody would watch it', () => {
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' } };
    assert.throws(() => desiredChildren(controller, widget(), [pod]), refusedWith('KIND_NOT_OWNED'));
  });

  it('refuses a plan that names one child twice', () => {
    const twice = [configMap('a', { k: '1' }), configMap('a', { k: '2' })];
    assert.throws(() => desiredChildren(controller, widget(), twice), refusedWith('DUPLICATE_CHILD'));
  });
});
