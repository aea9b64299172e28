import fc from 'fast-check';
import { type Doorbell, MAX_VERSIONS, type News } from '../../shared/message/doorbell.ts';
import { itemKey } from './work-items.ts';

/** A doorbell as a forwarder sends it. */
export function doorbell(overrides: Partial<Doorbell> = {}): Doorbell {
  return {
    key: itemKey(),
    news: { kind: 'versions', versions: [{ uid: 'u-1', resourceVersion: '7' }] },
    uid: 'u-1',
    generation: 3,
    trigger: 'MODIFIED WebApp default/web',
    ...overrides,
  };
}

/** Every doorbell within Kubernetes' limits on names, and somewhat beyond ours on versions and trigger. */
export function anyDoorbell(): fc.Arbitrary<Doorbell> {
  const key = fc.record(
    {
      cluster: name(1, 63),
      controller: name(1, 63),
      group: name(0, 253),
      kind: name(1, 63),
      namespace: name(0, 63),
      name: name(1, 253),
    },
    { noNullPrototype: true },
  );
  return fc.record(
    {
      key,
      news: anyNews(),
      uid: fc.uuid(),
      generation: fc.maxSafeNat(),
      deleted: fc.constant(true),
      trigger: fc.string({ unit: 'binary', maxLength: 300, size: 'max' }),
    },
    { requiredKeys: ['key', 'news', 'trigger'], noNullPrototype: true },
  );
}

function anyNews(): fc.Arbitrary<News> {
  const child = fc.record(
    { group: name(0, 63), kind: name(1, 63), namespace: name(0, 63), name: name(1, 63) },
    { noNullPrototype: true },
  );
  const version = fc.record(
    { uid: fc.uuid(), resourceVersion: fc.maxSafeNat().map(String), child },
    { requiredKeys: ['uid', 'resourceVersion'], noNullPrototype: true },
  );
  const versions = fc.array(version, { maxLength: MAX_VERSIONS + 2, size: 'max' });
  return fc.oneof(
    fc.record({ kind: fc.constantFrom('versions' as const, 'census' as const), versions }, { noNullPrototype: true }),
    fc.constantFrom<News>({ kind: 'alarm' }, { kind: 'unknown' }),
  );
}

function name(minLength: number, maxLength: number): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(...'abcxyz019-.'), minLength, maxLength, size: 'max' });
}
