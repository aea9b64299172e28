import assert from 'node:assert/strict';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { http } from '@google-cloud/functions-framework';
import { getTestServer } from '@google-cloud/functions-framework/testing';
import { reconcileWith } from '../../functions/reconcile.ts';
import { sweepWith } from '../../functions/sweep.ts';
import { Turns } from '../../functions/turns.ts';
import { encode } from '../../shared/message/codec.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import { memoryWorld } from '../support/memory-runtime.ts';
import { Widget, widgetController } from '../support/objects.ts';

const world = memoryWorld(widgetController());
const instance = {
  runtime: world.runtime,
  turns: new Turns({ ...world.runtime, slots: 1, room: 0 }),
  requests: () => ({
    serve: (_response: unknown, handle: (s: AbortSignal) => Promise<void>) => handle(new AbortController().signal),
  }),
};
http('reconcile', reconcileWith(instance));
http('sweep', sweepWith(instance));

const doorbell: Doorbell = { key: world.key, news: { kind: 'unknown' }, trigger: 'test' };
const push = (messageId: string, bell: Doorbell = doorbell, deliveryAttempt = 1) => ({
  deliveryAttempt,
  message: {
    data: Buffer.from(encode(bell).data).toString('base64'),
    attributes: {},
    messageId,
    message_id: messageId,
    publishTime: '2026-01-01T00:00:00Z',
    publish_time: '2026-01-01T00:00:00Z',
  },
  subscription: 'projects/demo-driftless/subscriptions/driftless-changes',
});

const servers = new Map(['reconcile', 'sweep'].map((name) => [name, getTestServer(name)]));

async function post(target: string, body: unknown, headers: Record<string, string> = {}): Promise<Response> {
  const server = servers.get(target);
  assert.ok(server);
  const { port } = server.address() as AddressInfo;
  return fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
}

describe('the functions under functions-framework', () => {
  before(async () => {
    for (const server of servers.values()) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    world.cluster.create(Widget, {
      apiVersion: 'test.driftless.dev/v1',
      kind: 'Widget',
      metadata: { namespace: 'default', name: 'w' },
      spec: { size: 3 },
    });
  });
  after(() => {
    for (const server of servers.values()) server.close();
  });

  it("acknowledges Pub/Sub's push with 204 once the object is as desired", async () => {
    const response = await post('reconcile', push('m1'));
    assert.equal(response.status, 204);
    const [, child] = world.cluster.objects();
    assert.deepEqual(child?.['data'], { size: '3' });
  });

  it('acknowledges a CloudEvent in binary mode', async () => {
    const { message, subscription } = push('m2');
    const headers = {
      'ce-id': 'm2',
      'ce-type': 'google.cloud.pubsub.topic.v1.messagePublished',
      'ce-specversion': '1.0',
      'ce-source': 's',
    };
    assert.equal((await post('reconcile', { message, subscription }, headers)).status, 204);
  });

  it('acknowledges a structured CloudEvent, and the event that the framework makes of a push', async () => {
    const { message, subscription } = push('m3');
    const event = { specversion: '1.0', id: 'm3', type: 'google.cloud.pubsub.topic.v1.messagePublished', source: 's' };
    const structured = { ...event, data: { message, subscription } };
    const headers = { 'content-type': 'application/cloudevents+json' };
    assert.equal((await post('reconcile', structured, headers)).status, 204);
    assert.equal((await post('reconcile', { ...event, data: { message } })).status, 204);
  });

  it('R23: refuses with 400 what nobody can ever decode, and says why in the log', async () => {
    assert.equal((await post('reconcile', { message: { messageId: 'm', data: 'bm8=' } })).status, 400);
    assert.equal((await post('reconcile', '[]')).status, 400);
    const refusals = world.log.lines.filter(({ message }) => message === 'message cannot be decoded');
    assert.equal(refusals.length, 2);
    assert.match(String(refusals[0]?.fields['error']), /JSON/);
  });

  it('asks for a redelivery while a message is still being worked on', async () => {
    const claimed = await world.runtime.queue.answer(doorbell, 'm4', new AbortController().signal);
    assert.equal(claimed.kind, 'claimed');
    assert.equal((await post('reconcile', push('m4', doorbell, 2))).status, 409);
    assert.equal((await post('reconcile', push('m5'))).status, 204);
    world.clock.advance(7_000);
    assert.equal((await post('reconcile', push('m4', doorbell, 3))).status, 204);
  });

  it('R24: answers 429 when there is no room, so that the message comes again later', async () => {
    const { promise: working, resolve: end } = Promise.withResolvers<void>();
    const delivery = { messageId: 'm', deliveryAttempt: 1, topic: 'changes', doorbell } as const;
    const busy = instance.turns.take(delivery, new AbortController().signal, () => working);
    assert.equal((await post('reconcile', push('m8'))).status, 429);
    end();
    await busy;
    assert.equal((await post('reconcile', push('m8'))).status, 204);
  });

  it('answers 503 for a controller that this fleet does not have, so that the message is kept', async () => {
    const stranger = { ...doorbell, key: { ...doorbell.key, controller: 'nobody' } };
    assert.equal((await post('reconcile', push('m6', stranger))).status, 503);
  });

  it('sweep answers with the number of alarms that it rang; what a dead holder left goes first', async () => {
    await world.runtime.queue.answer(doorbell, 'm7', new AbortController().signal);
    world.clock.advance(7_000);
    const response = await post('sweep', {});
    assert.deepEqual(await response.json(), { rung: 1 });
    assert.equal(world.bell.rung.at(-1)?.topic, 'changes');
    assert.deepEqual(world.bell.rung.at(-1)?.doorbell.news, { kind: 'alarm' });
  });
});
