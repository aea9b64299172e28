import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { mergePatch } from '../../../shared/reconcile/merge-patch.ts';

/** RFC 7386, section 2. */
function applyPatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = applyPatch(result[key], value);
  }
  return result;
}

describe('mergePatch', () => {
  it('R5: is undefined when everything is as wanted, whatever else is there', () => {
    assert.equal(mergePatch({ phase: 'Ready' }, { phase: 'Ready', foreign: 1 }), undefined);
  });

  it('R5: names only what differs, and leaves foreign fields alone', () => {
    assert.deepEqual(mergePatch({ phase: 'Ready', url: 'u' }, { phase: 'Pending', url: 'u', foreign: 1 }), {
      phase: 'Ready',
    });
  });

  it('removes a field that is wanted as undefined, and nested fields that are no longer wanted', () => {
    assert.deepEqual(mergePatch({ url: undefined, pool: { a: 1 } }, { url: 'u', pool: { a: 1, b: 2 } }), {
      url: null,
      pool: { b: null },
    });
  });

  it('replaces lists whole', () => {
    assert.deepEqual(mergePatch({ list: [1, 2] }, { list: [1] }), { list: [1, 2] });
  });

  it('makes the wanted so, and then has nothing left to do', () => {
    const json = fc.letrec((tie) => ({
      value: fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.array(fc.integer()), tie('object')),
      object: fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), { maxKeys: 3 }),
    }));
    const object = json.object as fc.Arbitrary<Record<string, unknown>>;
    fc.assert(
      fc.property(object, object, (want, have) => {
        const patch = mergePatch(want, have);
        const after = applyPatch(have, patch ?? {}) as Record<string, unknown>;
        assert.equal(mergePatch(want, after), undefined);
        for (const key of Object.keys(have)) if (!(key in want)) assert.deepEqual(after[key], have[key]);
      }),
    );
  });
});
