import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Stored } from '../../../shared/kube/object.ts';
import { givenUp } from '../../../shared/reconcile/given-up.ts';

const observed: Stored = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    name: 'web',
    uid: 'u',
    resourceVersion: '1',
    labels: { app: 'web', tier: 'front' },
    managedFields: [
      {
        manager: 'driftless/webapp',
        operation: 'Apply',
        fieldsV1: {
          'f:metadata': { 'f:labels': { 'f:app': {}, 'f:tier': {} } },
          'f:spec': {
            'f:replicas': {},
            'f:containers': {
              'k:{"name":"web"}': {
                '.': {},
                'f:name': {},
                'f:image': {},
                'f:ports': { 'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} } },
              },
            },
          },
        },
      },
      { manager: 'kubectl-edit', operation: 'Update', fieldsV1: { 'f:spec': { 'f:paused': {} } } },
    ],
  },
  spec: {
    replicas: 1,
    paused: true,
    containers: [{ name: 'web', image: 'a', ports: [{ containerPort: 80, protocol: 'TCP' }] }],
  },
};

const desired = (labels: Record<string, string>, spec: object) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', labels },
  spec,
});

describe('givenUp', () => {
  it('finds nothing while every owned field is still desired; a key left to its default counts as named', () => {
    const spec = { replicas: 2, containers: [{ name: 'web', image: 'b', ports: [{ containerPort: 80 }] }] };
    assert.deepEqual(givenUp(desired({ app: 'web', tier: 'x' }, spec), observed, 'driftless/webapp'), []);
  });

  it('finds a label, a field and a list entry that are no longer desired, and nothing of other managers', () => {
    assert.deepEqual(
      givenUp(desired({ app: 'web' }, { containers: [{ name: 'web', image: 'b' }] }), observed, 'driftless/webapp'),
      [
        { path: 'metadata.labels.tier', have: 'front', want: undefined },
        { path: 'spec.replicas', have: 1, want: undefined },
        { path: 'spec.containers[name=web].ports', have: [{ containerPort: 80, protocol: 'TCP' }], want: undefined },
      ],
    );
  });
});
