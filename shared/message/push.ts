import { decode } from './codec.ts';
import type { Doorbell, Topic } from './doorbell.ts';
import { filledTextField, invalid, isObject, type Json, objectField, optionalField, parseObject } from './fields.ts';

/** An HTTP request as a server hands it over: header names in lower case, the body parsed if its type was known. */
export interface PushRequest {
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: unknown;
}

/** One delivery of one message. */
export interface Delivery {
  /** The same for every delivery of one message. */
  readonly messageId: string;
  /** 1 for the first delivery. Pub/Sub counts only for a subscription with a dead letter policy; else it stays 1. */
  readonly deliveryAttempt: number;
  /** Where it waited: its subscription or its topic ends in `-background`. `changes` where nothing tells. */
  readonly topic: Topic;
  readonly doorbell: Doorbell;
}

/**
 * Decodes a push in any of the four shapes in which one arrives:
 *
 * - Pub/Sub's own: `{ message, subscription, deliveryAttempt }`
 * - that, as the body of a CloudEvent in binary mode (`ce-*` headers; Eventarc)
 * - that, as `data` of a structured CloudEvent (`application/cloudevents+json`)
 * - the event that functions-framework makes of it, which has lost `subscription` and `deliveryAttempt`
 *
 * @see https://cloud.google.com/pubsub/docs/push#receive_push
 * @throws {InvalidMessageError} for anything else.
 */
export function decodePush({ headers, body }: PushRequest): Delivery {
  const event = bodyObject(body);
  const data = optionalField(event, 'data');
  const envelope = isObject(data) ? data : event;
  const message = objectField(envelope, 'message');
  return {
    messageId: messageIdOf(message, event, headers),
    deliveryAttempt: attemptOf(envelope),
    topic: topicOf(envelope, event, headers),
    doorbell: decode(textOfBase64(filledTextField(message, 'message.data'))),
  };
}

/** A body whose content type no parser knew arrives as it came. */
function bodyObject(body: unknown): Json {
  if (typeof body === 'string') return parseObject(body);
  if (body instanceof Uint8Array) return parseObject(utf8(body));
  if (isObject(body)) return body;
  throw invalid('the body is not a JSON object');
}

/** Pub/Sub sends both spellings; what stands between it and us may keep only one, or only the event's own id. */
function messageIdOf(message: Json, event: Json, headers: PushRequest['headers']): string {
  const spellings = [optionalField(message, 'messageId'), optionalField(message, 'message_id')];
  for (const id of [...spellings, optionalField(event, 'id'), headers['ce-id']]) {
    if (typeof id === 'string' && id !== '') return id;
  }
  throw invalid("field 'message.messageId' is missing");
}

function attemptOf(envelope: Json): number {
  const attempt = optionalField(envelope, 'deliveryAttempt');
  // A diagnosis only: nonsense here is no reason to lose the message.
  return typeof attempt === 'number' && Number.isSafeInteger(attempt) && attempt >= 1 ? attempt : 1;
}

/** Not in the message itself: who is served first is settled by where it was published, also when it is forwarded. */
function topicOf(envelope: Json, event: Json, headers: PushRequest['headers']): Topic {
  const names = [optionalField(envelope, 'subscription'), optionalField(event, 'source'), headers['ce-source']];
  return names.some((name) => typeof name === 'string' && name.endsWith('-background')) ? 'background' : 'changes';
}

function textOfBase64(data: string): string {
  return utf8(Buffer.from(data, 'base64'));
}

function utf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw invalid('it is not UTF-8', error);
  }
}
