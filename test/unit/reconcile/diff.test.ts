import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { diff } from '../../../shared/reconcile/diff.ts';

const deployment = (container: object) => ({ spec: { template: { spec: { containers: [container] } } } });

describe('diff', () => {
  it('R3: finds nothing where the server only filled in defaults', () => {
    const want = { spec: { replicas: 3, selector: { matchLabels: { app: 'web' } } } };
    const have = {
      metadata: { uid: 'u', resourceVersion: '7', managedFields: [{}] },
      spec: { replicas: 3, revisionHistoryLimit: 10, selector: { matchLabels: { app: 'web' } } },
      status: { replicas: 3 },
    };
    assert.deepEqual(diff(want, have), []);
  });

  it('names the field, what it is and what it should be', () => {
    assert.deepEqual(diff({ spec: { replicas: 3 } }, { spec: { replicas: 1 } }), [
      { path: 'spec.replicas', have: 1, want: 3 },
    ]);
  });

  it('compares containers by name, and leaves other containers alone (a sidecar that a webhook added)', () => {
    const want = deployment({ name: 'web', image: 'web:2' });
    const have = {
      spec: {
        template: {
          spec: {
            containers: [
              { name: 'proxy', image: 'p' },
              { name: 'web', image: 'web:1' },
            ],
          },
        },
      },
    };
    assert.deepEqual(diff(want, have), [
      { path: 'spec.template.spec.containers[name=web].image', have: 'web:1', want: 'web:2' },
    ]);
  });

  it('P31: env in another order is no difference, a changed value is', () => {
    const want = deployment({
      name: 'web',
      env: [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ],
    });
    const have = deployment({
      name: 'web',
      env: [
        { name: 'B', value: '2' },
        { name: 'A', value: '1' },
      ],
    });
    const edited = deployment({
      name: 'web',
      env: [
        { name: 'B', value: '3' },
        { name: 'A', value: '1' },
      ],
    });
    assert.deepEqual(diff(want, have), []);
    assert.deepEqual(diff(want, edited), [
      { path: 'spec.template.spec.containers[name=web].env[name=B].value', have: '3', want: '2' },
    ]);
  });

  it('P31: an empty text, list or map equals an absent one', () => {
    assert.deepEqual(diff({ spec: { host: '', rules: [], labels: {}, gone: null } }, { spec: {} }), []);
  });

  it('P30: quantities are compared as numbers, and only where quantities stand', () => {
    const want = deployment({ name: 'web', resources: { limits: { cpu: '0.5', memory: '1Gi' } } });
    const have = deployment({ name: 'web', resources: { limits: { cpu: '500m', memory: '1024Mi' } } });
    assert.deepEqual(diff(want, have), []);
    assert.deepEqual(diff({ metadata: { labels: { v: '0.5' } } }, { metadata: { labels: { v: '500m' } } }), [
      { path: 'metadata.labels.v', have: '500m', want: '0.5' },
    ]);
  });

  it('compares ports by number and, where it is said, protocol', () => {
    const want = { spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }] } };
    const have = { spec: { ports: [{ name: 'http', port: 80, targetPort: 9090, protocol: 'TCP' }] } };
    assert.deepEqual(diff(want, have), [{ path: 'spec.ports[port=80].targetPort', have: 9090, want: 8080 }]);
  });

  it('compares a list without merge keys as a whole', () => {
    assert.deepEqual(diff({ spec: { args: ['a'] } }, { spec: { args: ['a', 'b'] } }), [
      { path: 'spec.args', have: ['a', 'b'], want: ['a'] },
    ]);
  });

  it('sees that the owner reference was removed by hand', () => {
    const want = { metadata: { ownerReferences: [{ uid: 'u1', name: 'web', controller: true }] } };
    assert.deepEqual(diff(want, { metadata: {} }), [
      { path: 'metadata.ownerReferences', have: undefined, want: [{ uid: 'u1', name: 'web', controller: true }] },
    ]);
  });
});
