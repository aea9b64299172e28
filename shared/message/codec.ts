import { InvalidMessageError } from '../errors.ts';
import type { ObjectRef } from '../kube/key.ts';
import { formatGroupKind } from '../kube/kind.ts';
import { formatItemKey, type ItemKey } from '../queue/work-item.ts';
import { type Doorbell, type Heard, MAX_VERSIONS, type News } from './doorbell.ts';
import {
  arrayField,
  countField,
  filledTextField,
  invalid,
  isObject,
  type Json,
  objectField,
  optionalField,
  parseObject,
  textField,
} from './fields.ts';

/** A doorbell as it travels. */
export interface Encoded {
  /** Compact JSON, at most `MAX_DATA_BYTES` of UTF-8. */
  readonly data: string;
  /** For subscription filters and the console; never read back. */
  readonly attributes: Readonly<Record<string, string>>;
}

/** An encoded doorbell that a broker has accepted. */
export interface PublishedMessage extends Encoded {
  readonly messageId: string;
  /** Epoch milliseconds, by the broker's clock. */
  readonly publishTime: number;
}

/** The major version of the schema. A field may be added within it; a changed meaning needs the next one. */
const WIRE_VERSION = 1;

/** Pub/Sub bills at least 1,000 bytes for a request, so staying below costs nothing and batches well. */
export const MAX_DATA_BYTES = 1024;

const MAX_TRIGGER_CHARACTERS = 200;

/**
 * Encodes a doorbell.
 *
 * Guarantees: key, uid and generation arrive unchanged. What does not fit gives way in order of use: the trigger is
 * cut first, then the children's names go, which only an item that lost its inventory needs; then the versions become
 * `unknown`, which costs a run that might have been spared, never a missed one.
 *
 * @throws {InvalidMessageError} if the key alone is too large, which no name that Kubernetes accepts can cause.
 */
export function encode({ key, news, uid, generation, deleted = false, trigger }: Doorbell): Encoded {
  const attributes = {
    'driftless-version': String(WIRE_VERSION),
    cluster: key.cluster,
    controller: key.controller,
    kind: formatGroupKind(key),
  };
  const wire = {
    v: WIRE_VERSION,
    key: keyOf(key),
    news: newsOf(news, key),
    ...(uid === undefined ? {} : { uid }),
    ...(generation === undefined ? {} : { generation }),
    ...(deleted ? { deleted } : {}),
    trigger: '',
  };
  for (const news of [wire.news, withoutNames(wire.news), { kind: 'unknown' }]) {
    const candidate = { ...wire, news };
    const room = MAX_DATA_BYTES - jsonBytes(candidate);
    if (room >= 0) return { data: JSON.stringify({ ...candidate, trigger: cut(trigger, room) }), attributes };
  }
  throw new InvalidMessageError(`cannot encode message: the key ${formatItemKey(key)} is too large`);
}

/**
 * Decodes what any build of the same major version encoded: fields it does not know are ignored, and news of a kind
 * it does not know is `unknown`.
 *
 * @throws {InvalidMessageError} naming the field that is missing or wrong, or the version that is not known.
 */
export function decode(data: string): Doorbell {
  const wire = parseObject(data);
  const version = countField(wire, 'v');
  if (version !== WIRE_VERSION) throw invalid(`version ${version} is not known`);
  const key = decodeKey(objectField(wire, 'key'));
  return {
    key,
    news: decodeNews(objectField(wire, 'news'), key),
    ...(optionalField(wire, 'uid') === undefined ? {} : { uid: filledTextField(wire, 'uid') }),
    ...(optionalField(wire, 'generation') === undefined ? {} : { generation: countField(wire, 'generation') }),
    ...(optionalField(wire, 'deleted') === true ? { deleted: true } : {}),
    trigger: textField(wire, 'trigger').slice(0, MAX_TRIGGER_CHARACTERS),
  };
}

// Built field by field: a caller's object may carry more than its type says.
function keyOf({ cluster, controller, group, kind, namespace, name }: ItemKey): ItemKey {
  return { cluster, controller, group, kind, namespace, name };
}

function newsOf(news: News, key: ItemKey) {
  switch (news.kind) {
    case 'versions':
    case 'census':
      if (news.versions.length > MAX_VERSIONS) return { kind: 'unknown' };
      return {
        kind: news.kind,
        versions: news.versions.map(({ uid, resourceVersion, child }) => ({
          uid,
          resourceVersion,
          ...(child === undefined ? {} : { child: childOf(child, key) }),
        })),
      };
    case 'alarm':
    case 'unknown':
      return { kind: news.kind };
  }
}

/** The namespace is left out where it is the object's own. */
function childOf({ group, kind, namespace, name }: ObjectRef, key: ItemKey) {
  return { group, kind, ...(namespace === key.namespace ? {} : { namespace }), name };
}

function withoutNames(news: ReturnType<typeof newsOf>) {
  if (!('versions' in news)) return news;
  return { ...news, versions: news.versions.map(({ uid, resourceVersion }) => ({ uid, resourceVersion })) };
}

/** The longest beginning of `text` that takes no more than `room` bytes inside a JSON string. */
function cut(text: string, room: number): string {
  let end = 0;
  let used = 0;
  // By code point, so that no surrogate pair is torn apart.
  for (const character of text) {
    used += jsonBytes(character) - '""'.length;
    if (used > room || end + character.length > MAX_TRIGGER_CHARACTERS) break;
    end += character.length;
  }
  return text.slice(0, end);
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function decodeKey(key: Json): ItemKey {
  return {
    cluster: filledTextField(key, 'key.cluster'),
    controller: filledTextField(key, 'key.controller'),
    group: textField(key, 'key.group'),
    kind: filledTextField(key, 'key.kind'),
    namespace: textField(key, 'key.namespace'),
    name: filledTextField(key, 'key.name'),
  };
}

function decodeNews(news: Json, key: ItemKey): News {
  const kind = filledTextField(news, 'news.kind');
  if (kind === 'alarm') return { kind };
  if (kind !== 'versions' && kind !== 'census') return { kind: 'unknown' };
  const versions = arrayField(news, 'news.versions');
  if (versions.length > MAX_VERSIONS) return { kind: 'unknown' };
  return { kind, versions: versions.map((version, index) => decodeHeard(version, index, key)) };
}

function decodeHeard(version: unknown, index: number, key: ItemKey): Heard {
  const path = `news.versions[${index}]`;
  if (!isObject(version)) throw invalid(`field '${path}' is not an object`);
  return {
    uid: filledTextField(version, `${path}.uid`),
    resourceVersion: filledTextField(version, `${path}.resourceVersion`),
    ...(optionalField(version, 'child') === undefined ? {} : { child: decodeChild(version, `${path}.child`, key) }),
  };
}

function decodeChild(version: Json, path: string, key: ItemKey): ObjectRef {
  const child = objectField(version, path);
  const isElsewhere = optionalField(child, 'namespace') !== undefined;
  return {
    group: textField(child, `${path}.group`),
    kind: filledTextField(child, `${path}.kind`),
    namespace: isElsewhere ? textField(child, `${path}.namespace`) : key.namespace,
    name: filledTextField(child, `${path}.name`),
  };
}
