import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { newestOnly } from '../../infra/local/node-agent/newest-only.ts';
import { nextStep, type Pod, type PodStep } from '../../infra/local/node-agent/pod-step.ts';
import { ApiError } from '../../shared/kube/api-error.ts';
import type { KubeObject } from '../../shared/kube/object.ts';
import type { Logger } from '../../shared/ports/logger.ts';
import { eventually } from './supervisor-processes.ts';

interface PodState {
  readonly nodeName?: string;
  readonly phase?: string;
  readonly image?: string;
  readonly restartPolicy?: string;
  readonly waiting?: boolean;
  readonly deleted?: boolean;
}

function pod({ nodeName, phase = 'Pending', image = 'nginx:1', restartPolicy = 'Always', ...state }: PodState): Pod {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'web',
      namespace: 'default',
      uid: 'u1',
      resourceVersion: '7',
      ...(state.deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}),
    },
    spec: { restartPolicy, containers: [{ name: 'main', image }], ...(nodeName === undefined ? {} : { nodeName }) },
    status: { phase, ...(state.waiting ? { containerStatuses: [{ state: { waiting: {} } }] } : {}) },
  };
}

describe('the node agent takes the next step of a pod', () => {
  const cases: readonly (readonly [string, PodState, PodStep])[] = [
    ['a pod without a node is bound', {}, 'bind'],
    ['a bound pod runs', { nodeName: 'local' }, 'run'],
    ['a running pod that is meant to run stays', { nodeName: 'local', phase: 'Running' }, 'nothing'],
    [
      'a running pod that is meant to end has ended',
      { nodeName: 'local', phase: 'Running', restartPolicy: 'OnFailure' },
      'succeed',
    ],
    ['a pod that has ended stays', { nodeName: 'local', phase: 'Succeeded', restartPolicy: 'Never' }, 'nothing'],
    ['a pod of another node is not touched', { nodeName: 'other' }, 'nothing'],
    ['a pod that is being deleted is removed', { nodeName: 'local', phase: 'Running', deleted: true }, 'remove'],
    ['a pod that was never bound is removed by the API server', { deleted: true }, 'nothing'],
    [
      'an image of the broken repository is waited for',
      { nodeName: 'local', image: 'registry.example/broken:3' },
      'waitForImage',
    ],
    ['an image with the tag broken is waited for', { nodeName: 'local', image: 'nginx:broken' }, 'waitForImage'],
    [
      'a pod that waits for its image is said so once',
      { nodeName: 'local', image: 'nginx:broken', waiting: true },
      'nothing',
    ],
    ['a pod whose image was changed for a good one runs', { nodeName: 'local', waiting: true }, 'run'],
  ];
  for (const [claim, state, step] of cases) {
    it(claim, () => assert.equal(nextStep(pod(state), 'local'), step));
  }
});

describe('the node agent handles events', () => {
  const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };
  const at = (resourceVersion: string): KubeObject => ({
    ...pod({}),
    metadata: { ...pod({}).metadata, resourceVersion },
  });

  it('one at a time per object, and always the last one', async () => {
    const handled: string[] = [];
    const release = Promise.withResolvers<void>();
    const handle = newestOnly({
      log: silent,
      handle: async ({ metadata }) => {
        handled.push(metadata.resourceVersion ?? '');
        await release.promise;
      },
    });
    for (const version of ['1', '2', '3']) handle(at(version));
    release.resolve();
    await eventually('the last one is handled', () => handled.includes('3'));
    assert.deepEqual(handled, ['1', '3']);
  });

  it('again when handling failed, but not when the object is gone', async () => {
    const handled: string[] = [];
    const gone = new ApiError('get', { code: 404, reason: 'NotFound', message: '', causes: [] });
    const handle = newestOnly({
      log: silent,
      handle: async ({ metadata }) => {
        handled.push(metadata.resourceVersion ?? '');
        throw handled.length === 1 ? new Error('the API server is away') : gone;
      },
    });
    handle(at('1'));
    await eventually('it is handled again', () => handled.length === 2);
    await sleep(20);
    assert.deepEqual(handled, ['1', '1']);
  });
});
