import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InvalidMessageError } from '../../../shared/errors.ts';
import { decodePush } from '../../../shared/message/push.ts';

// {"v":1,"key":{"cluster":"local","controller":"webapp","group":"apps.driftless.dev","kind":"WebApp","namespace":"default","name":"web"},"news":{"kind":"alarm"},"trigger":"alarm"}
const data =
  'eyJ2IjoxLCJrZXkiOnsiY2x1c3RlciI6ImxvY2FsIiwiY29udHJvbGxlciI6IndlYmFwcCIsImdyb3VwIjoiYXBwcy5kcmlmdGxlc3MuZGV2Iiwia2luZCI6IldlYkFwcCIsIm5hbWVzcGFjZSI6ImRlZmF1bHQiLCJuYW1lIjoid2ViIn0sIm5ld3MiOnsia2luZCI6ImFsYXJtIn0sInRyaWdnZXIiOiJhbGFybSJ9';

const doorbell = {
  key: {
    cluster: 'local',
    controller: 'webapp',
    group: 'apps.driftless.dev',
    kind: 'WebApp',
    namespace: 'default',
    name: 'web',
  },
  news: { kind: 'alarm' },
  trigger: 'alarm',
};

const message = {
  attributes: { 'driftless-version': '1', cluster: 'local' },
  data,
  messageId: '2070443601311540',
  message_id: '2070443601311540',
  publishTime: '2021-02-26T19:13:55.749Z',
  publish_time: '2021-02-26T19:13:55.749Z',
};
const envelope = { deliveryAttempt: 5, message, subscription: 'projects/demo-p/subscriptions/driftless-changes' };
const json = { 'content-type': 'application/json' };
const cloudEvent = {
  specversion: '1.0',
  id: '2070443601311540',
  source: '//pubsub.googleapis.com/projects/demo-p/topics/driftless-changes',
  type: 'google.cloud.pubsub.topic.v1.messagePublished',
  time: '2021-02-26T19:13:55.749Z',
};

describe('a push', () => {
  for (const [shape, request, deliveryAttempt] of [
    ["in Pub/Sub's own form", { headers: json, body: envelope }, 5],
    [
      'with an ordering key and a dead letter policy',
      { headers: json, body: { ...envelope, message: { ...message, orderingKey: 'k' } } },
      5,
    ],
    ['without a dead letter policy', { headers: json, body: { message, subscription: envelope.subscription } }, 1],
    [
      'of the emulator',
      {
        headers: { ...json, 'user-agent': 'Java/17' },
        body: { subscription: envelope.subscription, message: { ...message, attributes: {} } },
      },
      1,
    ],
    ['with messageId only', { headers: json, body: { message: { data, messageId: '2070443601311540' } } }, 1],
    ['with message_id only', { headers: json, body: { message: { data, message_id: '2070443601311540' } } }, 1],
    [
      'as a CloudEvent in binary mode',
      {
        headers: {
          ...json,
          'ce-id': '2070443601311540',
          'ce-specversion': '1.0',
          'ce-type': cloudEvent.type,
          'ce-source': cloudEvent.source,
          'ce-time': cloudEvent.time,
        },
        body: envelope,
      },
      5,
    ],
    [
      'as a CloudEvent in binary mode that names the message in its header only',
      { headers: { ...json, 'ce-id': '2070443601311540', 'ce-specversion': '1.0' }, body: { message: { data } } },
      1,
    ],
    [
      'as a structured CloudEvent',
      {
        headers: { 'content-type': 'application/cloudevents+json; charset=utf-8' },
        body: { ...cloudEvent, datacontenttype: 'application/json', data: envelope },
      },
      5,
    ],
    [
      'as the event that functions-framework makes of it',
      {
        headers: json,
        body: {
          ...cloudEvent,
          datacontenttype: 'application/json',
          data: {
            message: {
              '@type': 'type.googleapis.com/google.pubsub.v1.PubsubMessage',
              data,
              attributes: message.attributes,
              publishTime: message.publishTime,
              messageId: message.messageId,
            },
          },
        },
      },
      1,
    ],
    ['as text that no parser touched', { headers: {}, body: JSON.stringify(envelope) }, 5],
    ['as bytes that no parser touched', { headers: {}, body: Buffer.from(JSON.stringify(envelope)) }, 5],
    ['that counts nothing', { headers: json, body: { ...envelope, deliveryAttempt: 0 } }, 1],
  ] as const) {
    it(`R22: ${shape} is understood`, () => {
      assert.deepEqual(decodePush(request), {
        messageId: '2070443601311540',
        deliveryAttempt,
        topic: 'changes',
        doorbell,
      });
    });
  }

  const background = 'projects/demo-p/subscriptions/driftless-background';
  const source = '//pubsub.googleapis.com/projects/demo-p/topics/driftless-background';
  for (const [where, request] of [
    ["in Pub/Sub's own form", { headers: json, body: { ...envelope, subscription: background } }],
    ['in a structured CloudEvent', { headers: json, body: { ...cloudEvent, source, data: { message } } }],
    ['in the headers of a CloudEvent', { headers: { ...json, 'ce-source': source }, body: { message } }],
  ] as const) {
    it(`R24: the background is told by the name of subscription or topic, ${where}`, () => {
      assert.equal(decodePush(request).topic, 'background');
    });
  }

  const withData = (text: string) => ({ ...envelope, message: { ...message, data: text } });
  for (const [what, body, complaint] of [
    ['nothing', undefined, 'the body is not a JSON object'],
    ['null', null, 'the body is not a JSON object'],
    ['a number', 4, 'the body is not a JSON object'],
    ['a list', [envelope], 'the body is not a JSON object'],
    ['text', 'hello', 'it is not JSON'],
    ['bytes that are no text', Buffer.from([0xff, 0xfe]), 'it is not UTF-8'],
    ['an empty object', {}, "field 'message' is missing"],
    ['a CloudEvent about something else', { ...cloudEvent, data: { bucket: 'b' } }, "field 'message' is missing"],
    ['a message that is text', { message: 'hello' }, "field 'message' is not an object"],
    ['a message without id', { message: { data } }, "field 'message.messageId' is missing"],
    ['attributes only', { message: { messageId: '1', attributes: {} } }, "field 'message.data' is missing"],
    ['empty data', withData(''), "field 'message.data' is empty"],
    ['data that is an object', { message: { messageId: '1', data: {} } }, "field 'message.data' is not a string"],
    ['data that is no base64', withData('%%%'), 'it is not JSON'],
    ['data that is no text', withData('/////w=='), 'it is not UTF-8'],
    ['data that is no JSON', withData('aGVsbG8='), 'it is not JSON'],
    ['data that is no doorbell', withData('e30='), "field 'v' is missing"],
  ] as const) {
    it(`R23: ${what} is refused with a reason`, () => {
      assert.throws(
        () => decodePush({ headers: json, body }),
        (error) => error instanceof InvalidMessageError && error.message === `cannot decode message: ${complaint}`,
      );
    });
  }
});
