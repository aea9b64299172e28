import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gapBetween } from '../../../shared/queue/store-gap.ts';

describe('a gap in what is known of the store', () => {
  it('is none while it answers, nor when it answers for the first time soon', () => {
    assert.equal(gapBetween({ epoch: 'a', silentMs: 3_000 }, 'a'), undefined);
    assert.equal(gapBetween({ epoch: 'a', silentMs: 15_000 }, 'a'), undefined);
    assert.equal(gapBetween({ epoch: undefined, silentMs: 500 }, 'a'), undefined);
  });

  it('is a lost content when its epoch is another one, also when it was not away for long', () => {
    assert.deepEqual(gapBetween({ epoch: 'a', silentMs: 3_000 }, 'b'), { kind: 'emptied' });
    assert.deepEqual(gapBetween({ epoch: 'a', silentMs: 60_000 }, 'b'), { kind: 'emptied' });
  });

  it('is an absence when messages may have been given up meanwhile, also before it was ever reached', () => {
    assert.deepEqual(gapBetween({ epoch: 'a', silentMs: 15_000.5 }, 'a'), { kind: 'away', awayMs: 15_001 });
    assert.deepEqual(gapBetween({ epoch: undefined, silentMs: 40_000 }, 'a'), { kind: 'away', awayMs: 40_000 });
  });
});
