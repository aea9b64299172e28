import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isNews } from '../../../shared/queue/news.ts';
import { child, doorbell, news, seen, versions, workItem } from '../../support/work-items.ts';

const NOW = 5_000;
const known = workItem({
  uid: 'a',
  seen: seen({ versions: { a: '10', b: '20' }, gone: ['z'] }),
  children: [child('web', 'b'), child('next', null), child('old', 'z')],
});

describe('news', () => {
  for (const [claim, ring, expected] of [
    ['a newer version is news', news('a@11'), true],
    ['P04: the version that was seen is no news', news('a@10'), false],
    ['an older version is no news', news('a@9'), false],
    ['resource versions are compared as numbers, not as text', news('a@100'), true],
    ['P45: the echo of a write to a child is no news', news('b@20'), false],
    ['one new version among old ones is news', news('a@10', 'b@21'), true],
    ['an object that nobody has seen is news', news('c@1'), true],
    ['the deletion of what is known to be gone is no news', news('z@99'), false],
    ['a version that cannot be compared is news', news('a@0x1f'), true],
    ['no version at all is no news', news(), false],
    ['a census of what was seen is no news', { kind: 'census', versions: versions('a@10', 'b@20') }, false],
    ['a census with a newer version is news', { kind: 'census', versions: versions('a@10', 'b@21') }, true],
    ['P22: a census without a known child is news', { kind: 'census', versions: versions('a@10') }, true],
    ['somebody asking for a run is news', { kind: 'unknown' }, true],
    ['an alarm for an item without one is no news', { kind: 'alarm' }, false],
  ] as const) {
    it(claim, () => {
      assert.equal(isNews(known, doorbell(ring), NOW), expected);
    });
  }

  it('an alarm is news from the moment for which it is set', () => {
    const item = workItem({ alarm: { wakeAt: NOW, reason: 'requeue' } });
    assert.equal(isNews(item, doorbell({ kind: 'alarm' }), NOW - 0.001), false);
    assert.equal(isNews(item, doorbell({ kind: 'alarm' }), NOW), true);
  });

  it('everything is news for an item that does not exist', () => {
    assert.equal(isNews(undefined, doorbell(news()), NOW), true);
    assert.equal(isNews(undefined, doorbell({ kind: 'alarm' }), NOW), true);
  });
});
