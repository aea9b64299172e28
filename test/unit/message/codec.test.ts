import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { InvalidMessageError } from '../../../shared/errors.ts';
import { decode, encode, MAX_DATA_BYTES } from '../../../shared/message/codec.ts';
import { type Doorbell, MAX_VERSIONS, type News } from '../../../shared/message/doorbell.ts';
import { anyDoorbell, doorbell } from '../../support/doorbells.ts';

const wire = {
  v: 1,
  key: {
    cluster: 'local',
    controller: 'webapp',
    group: 'apps.driftless.dev',
    kind: 'WebApp',
    namespace: 'default',
    name: 'web',
  },
  news: { kind: 'versions', versions: [{ uid: 'u-1', resourceVersion: '7' }] },
  uid: 'u-1',
  generation: 3,
  trigger: 'MODIFIED WebApp default/web',
};

const childIn = (namespace: string) => ({ group: 'apps', kind: 'Deployment', namespace, name: 'web' });

function withoutNames(news: News): News {
  if (!('versions' in news)) return news;
  return { ...news, versions: news.versions.map(({ uid, resourceVersion }) => ({ uid, resourceVersion })) };
}

describe('doorbell codec', () => {
  it('writes compact JSON and attributes to filter by', () => {
    assert.deepEqual(encode(doorbell()), {
      data: '{"v":1,"key":{"cluster":"local","controller":"webapp","group":"apps.driftless.dev","kind":"WebApp","namespace":"default","name":"web"},"news":{"kind":"versions","versions":[{"uid":"u-1","resourceVersion":"7"}]},"uid":"u-1","generation":3,"trigger":"MODIFIED WebApp default/web"}',
      attributes: {
        'driftless-version': '1',
        cluster: 'local',
        controller: 'webapp',
        kind: 'WebApp.apps.driftless.dev',
      },
    });
  });

  it('reads what it wrote, for every doorbell that fits', () => {
    const kinds: readonly Doorbell['news'][] = [
      { kind: 'versions', versions: [{ uid: 'u-1', resourceVersion: '7' }] },
      { kind: 'census', versions: [] },
      { kind: 'census', versions: [{ uid: 'u-2', resourceVersion: '8', child: childIn('default') }] },
      { kind: 'versions', versions: [{ uid: 'u-2', resourceVersion: '8', child: childIn('') }] },
      { kind: 'alarm' },
      { kind: 'unknown' },
    ];
    for (const news of kinds) {
      const full = doorbell({ news });
      assert.deepEqual(decode(encode(full).data), full);
      const { uid: _uid, generation: _generation, ...small } = full;
      assert.deepEqual(decode(encode(small).data), small);
    }
  });

  it('P66: stays within 1 KB for every name that Kubernetes accepts', () => {
    fc.assert(
      fc.property(anyDoorbell(), (any) => {
        assert.ok(Buffer.byteLength(encode(any).data) <= MAX_DATA_BYTES);
      }),
    );
  });

  it('keeps the key, uid and generation whatever is cut, and turns what does not fit into a run', () => {
    fc.assert(
      fc.property(anyDoorbell(), (any) => {
        const read = decode(encode(any).data);
        assert.deepEqual({ ...read, news: any.news, trigger: any.trigger }, any);
        assert.ok(any.trigger.startsWith(read.trigger));
        if (read.news.kind === 'unknown') return;
        assert.ok([any.news, withoutNames(any.news)].some((news) => isDeepStrictEqual(read.news, news)));
      }),
    );
  });

  it('names four children whose names are long; of eight it tells the versions only', () => {
    const name = 'n'.repeat(50);
    const versions = Array.from({ length: 4 }, (_, n) => ({
      uid: `${n}`.repeat(36),
      resourceVersion: '1234567',
      child: { ...childIn('default'), name },
    }));
    const some = doorbell({ key: { ...wire.key, name }, news: { kind: 'census', versions } });
    assert.deepEqual(decode(encode(some).data).news, some.news);
    const more = doorbell({ ...some, news: { kind: 'census', versions: [...versions, ...versions] } });
    assert.deepEqual(decode(encode(more).data).news, withoutNames(more.news));
  });

  it('encodes what it decoded to the same bytes', () => {
    fc.assert(
      fc.property(anyDoorbell(), (any) => {
        const { data } = encode(any);
        assert.equal(encode(decode(data)).data, data);
      }),
    );
  });

  it('says unknown for more versions than a message holds', () => {
    const version = { uid: 'u', resourceVersion: '1' };
    const versions = (count: number) => ({ kind: 'versions', versions: Array(count).fill(version) }) as const;
    assert.deepEqual(decode(encode(doorbell({ news: versions(MAX_VERSIONS) })).data).news, versions(MAX_VERSIONS));
    assert.deepEqual(decode(encode(doorbell({ news: versions(MAX_VERSIONS + 1) })).data).news, { kind: 'unknown' });
  });

  it('gives up the trigger before the versions', () => {
    const versions = Array.from({ length: MAX_VERSIONS }, (_, i) => ({
      uid: `3f2504e0-4f89-11d3-9a0c-0305e82c330${i}`,
      resourceVersion: '1234567890',
    }));
    const read = decode(encode(doorbell({ news: { kind: 'versions', versions }, trigger: 'x'.repeat(200) })).data);
    assert.deepEqual(read.news, { kind: 'versions', versions });
    assert.match(read.trigger, /^x{20,199}$/);
  });

  it('never tears a character of the trigger apart', () => {
    const read = decode(encode(doorbell({ trigger: `${'x'.repeat(199)}🔔` })).data);
    assert.equal(read.trigger, 'x'.repeat(199));
  });

  it('does not send more than the type says', () => {
    const loaded = { ...doorbell(), secret: 'hunter2', key: { ...doorbell().key, spec: 'hunter2' } };
    assert.doesNotMatch(encode(loaded).data, /hunter2/);
  });

  it('refuses a key that no message can hold', () => {
    const key = { ...doorbell().key, name: 'x'.repeat(2000) };
    assert.throws(() => encode(doorbell({ key })), {
      code: 'INVALID_MESSAGE',
      message: /^cannot encode message: the key/,
    });
  });

  it('ignores fields that a newer build of the same version added', () => {
    const newer = { ...wire, colour: 'red', key: { ...wire.key, shard: 4 }, news: { ...wire.news, since: 1 } };
    assert.deepEqual(decode(JSON.stringify(newer)), doorbell());
  });

  it('takes news of a kind it does not know for unknown news', () => {
    assert.deepEqual(decode(JSON.stringify({ ...wire, news: { kind: 'rumour' } })).news, { kind: 'unknown' });
  });

  for (const [what, broken, message] of [
    ['no JSON', 'hello', 'it is not JSON'],
    ['nothing', '', 'it is not JSON'],
    ['a list', '[]', 'it is not a JSON object'],
    ['null', 'null', 'it is not a JSON object'],
    ['no version', { ...wire, v: undefined }, "field 'v' is missing"],
    ['a version that is no number', { ...wire, v: '1' }, "field 'v' is not a whole number"],
    ['the next version', { ...wire, v: 2 }, 'version 2 is not known'],
    ['no key', { ...wire, key: undefined }, "field 'key' is missing"],
    ['a key that is text', { ...wire, key: 'web' }, "field 'key' is not an object"],
    ['a key without kind', { ...wire, key: { ...wire.key, kind: undefined } }, "field 'key.kind' is missing"],
    ['a key with an empty name', { ...wire, key: { ...wire.key, name: '' } }, "field 'key.name' is empty"],
    ['a numeric namespace', { ...wire, key: { ...wire.key, namespace: 4 } }, "field 'key.namespace' is not a string"],
    ['no news', { ...wire, news: null }, "field 'news' is missing"],
    [
      'versions that are no list',
      { ...wire, news: { kind: 'census', versions: {} } },
      "field 'news.versions' is not an array",
    ],
    [
      'a version that is null',
      { ...wire, news: { kind: 'census', versions: [null] } },
      "field 'news.versions[0]' is not an object",
    ],
    [
      'a version without resourceVersion',
      { ...wire, news: { kind: 'versions', versions: [{ uid: 'u', resourceVersion: '1' }, { uid: 'u' }] } },
      "field 'news.versions[1].resourceVersion' is missing",
    ],
    ['a negative generation', { ...wire, generation: -1 }, "field 'generation' is not a whole number"],
    ['an empty uid', { ...wire, uid: '' }, "field 'uid' is empty"],
    ['no trigger', { ...wire, trigger: undefined }, "field 'trigger' is missing"],
  ] as const) {
    it(`R23: names what is wrong with ${what}`, () => {
      const data = typeof broken === 'string' ? broken : JSON.stringify(broken);
      assert.throws(
        () => decode(data),
        (error) => error instanceof InvalidMessageError && error.message === `cannot decode message: ${message}`,
      );
    });
  }
});
