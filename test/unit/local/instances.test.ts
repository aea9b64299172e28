import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PushResult } from '../../../infra/local/push-bridge/delivery.ts';
import { Instances } from '../../../infra/local/push-bridge/instances.ts';

const OK: PushResult = { kind: 'answered', status: 204 };
const REFUSED: PushResult = { kind: 'failed', code: 'ECONNREFUSED' };

describe('which instance of a function gets a request', () => {
  it('each in turn, as long as none is busy', async () => {
    const { instances, asked } = world('a', 'b', 'c');
    for (let i = 0; i < 7; i += 1) await instances.send(asked.by(() => OK));
    assert.deepEqual(asked.urls, ['a', 'b', 'c', 'a', 'b', 'c', 'a']);
  });

  it('the one that is the least busy', async () => {
    const { instances, asked } = world('a', 'b');
    const never = new Promise<PushResult>(() => undefined);
    void instances.send(asked.by(() => never));
    for (let i = 0; i < 3; i += 1) await instances.send(asked.by(() => OK));
    assert.deepEqual(asked.urls, ['a', 'b', 'b', 'b']);
  });

  it('one that never answers gets no more than those that answer have in hand', async () => {
    const { instances, asked } = world('frozen', 'b', 'c');
    const never = new Promise<PushResult>(() => undefined);
    for (let i = 0; i < 9; i += 1) void instances.send(asked.by(() => never));
    assert.deepEqual(asked.urls, ['frozen', 'b', 'c', 'frozen', 'b', 'c', 'frozen', 'b', 'c']);
  });

  it('the next one when an instance is not there', async () => {
    const { instances, asked } = world('dead', 'b', 'c');
    for (let i = 0; i < 3; i += 1) {
      assert.deepEqual(await instances.send(asked.by((url) => (url === 'dead' ? REFUSED : OK))), OK);
    }
    assert.deepEqual(asked.urls, ['dead', 'b', 'c', 'dead', 'b']);
  });

  it('nobody when none is there, and each was asked once', async () => {
    const { instances, asked } = world('a', 'b');
    assert.deepEqual(await instances.send(asked.by(() => REFUSED)), REFUSED);
    assert.deepEqual(asked.urls, ['a', 'b']);
  });

  it('not another one when it broke off: it may have done its work', async () => {
    const { instances, asked } = world('a', 'b');
    const broken: PushResult = { kind: 'failed', code: 'UND_ERR_SOCKET' };
    assert.deepEqual(await instances.send(asked.by(() => broken)), broken);
    assert.deepEqual(asked.urls, ['a']);
  });
});

function world(...urls: readonly string[]) {
  const asked: string[] = [];
  return {
    instances: new Instances(urls),
    asked: {
      urls: asked,
      by: (answer: (url: string) => PushResult | Promise<PushResult>) => async (url: string) => {
        asked.push(url);
        return await answer(url);
      },
    },
  };
}
