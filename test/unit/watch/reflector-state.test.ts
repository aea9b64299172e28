import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  backoffMs,
  INITIAL,
  next,
  type ReflectorInput,
  type ReflectorState,
  type Watching,
} from '../../../shared/watch/reflector-state.ts';

const at = (nowMs: number, fraction = 0) => ({ nowMs, fraction });

/** Runs inputs one after another, each at its time. */
function run(state: ReflectorState, ...steps: readonly (readonly [nowMs: number, input: ReflectorInput])[]) {
  return steps.reduce((current, [nowMs, input]) => next(current, input, at(nowMs)), state);
}

function watching(fields: Partial<Watching> = {}): Watching {
  return {
    phase: 'watching',
    listBy: 'stream',
    attempt: 0,
    healthySinceMs: 0,
    resourceVersion: '100',
    openedAtMs: 0,
    heard: 'nothing',
    ...fields,
  };
}

describe('reflector state: list, then watch', () => {
  it('watches from the version that the complete list names', () => {
    assert.deepEqual(next(INITIAL, { kind: 'listed', resourceVersion: '100' }, at(5)), {
      phase: 'watching',
      listBy: 'stream',
      attempt: 0,
      healthySinceMs: 5,
      resourceVersion: '100',
      openedAtMs: 5,
      heard: 'nothing',
    });
  });

  it('P04: never takes a resume point from the unordered ADDED events of a list', () => {
    const state = run(
      INITIAL,
      [1, { kind: 'event', resourceVersion: '7' }],
      [2, { kind: 'event', resourceVersion: '3' }],
    );
    assert.deepEqual(state, INITIAL);
  });

  it('follows events and bookmarks, and never goes back', () => {
    let state: ReflectorState = watching();
    const versions = ['105', '103', '110', '99'].map((resourceVersion, index) => {
      state = next(state, { kind: index % 2 === 0 ? 'event' : 'bookmark', resourceVersion }, at(index));
      assert(state.phase === 'watching');
      return state.resourceVersion;
    });
    assert.deepEqual(versions, ['105', '105', '110', '110']);
  });

  it('P04: watches on from the last version when the server ends a stream, without a list', () => {
    const state = run(watching(), [3_000, { kind: 'event', resourceVersion: '105' }], [5_000, { kind: 'ended' }]);
    assert.deepEqual(state, watching({ resourceVersion: '105', openedAtMs: 5_000 }));
  });

  it('lists by pages for good where the server does not list by stream (422)', () => {
    const state = next(INITIAL, { kind: 'unsupported' }, at(0));
    assert.deepEqual(state, { ...INITIAL, listBy: 'pages' });
    const later = run(
      state,
      [1, { kind: 'listed', resourceVersion: '5' }],
      [2, { kind: 'expired' }],
      [900, { kind: 'waited' }],
    );
    assert.deepEqual([later.phase, later.listBy], ['listing', 'pages']);
  });
});

describe('reflector state: what goes wrong', () => {
  it('P06a: lists once after a 410, and waits longer when the next version expires too', () => {
    const once = next(watching({ heard: 'event' }), { kind: 'expired' }, at(1_000));
    assert(once.phase === 'backingOff');
    assert.deepEqual([once.resumeFrom, once.delayMs, once.attempt], [undefined, 800, 1]);

    const relisting = next(once, { kind: 'waited' }, at(1_800));
    assert.equal(relisting.phase, 'listing');

    const twice = run(relisting, [1_810, { kind: 'listed', resourceVersion: '200' }], [1_820, { kind: 'expired' }]);
    assert(twice.phase === 'backingOff');
    assert.deepEqual([twice.resumeFrom, twice.delayMs, twice.attempt], [undefined, 1_600, 2]);
  });

  it('a version that expired while the server was away costs a short delay, whatever failed before', () => {
    const state = next(watching({ attempt: 6, healthySinceMs: undefined }), { kind: 'expired' }, at(10));
    assert(state.phase === 'backingOff');
    assert.deepEqual([state.resumeFrom, state.delayMs, state.attempt], [undefined, 800, 6]);
  });

  it('P06d: resumes from the last version after a failure', () => {
    const state = next(watching({ resourceVersion: '105', heard: 'event' }), { kind: 'failed' }, at(2_000));
    assert(state.phase === 'backingOff');
    assert.equal(state.resumeFrom, '105');
    const checking = next(state, { kind: 'waited' }, at(2_800));
    assert(checking.phase === 'checking');
    const resumed = next(checking, { kind: 'checked', resourceVersion: '105' }, at(2_801));
    assert(resumed.phase === 'watching');
    assert.deepEqual([resumed.resourceVersion, resumed.openedAtMs], ['105', 2_801]);
    assert.equal(next(checking, { kind: 'checked', resourceVersion: '104' }, at(2_801)).phase, 'listing');
    const failed = next(checking, { kind: 'failed' }, at(2_801));
    assert(failed.phase === 'backingOff');
    assert.equal(failed.resumeFrom, '105');
  });

  it('P06c: a stream that ends within a second without an event is a failure, bookmark or not', () => {
    for (const heard of ['nothing', 'bookmark'] as const) {
      const state = next(watching({ heard }), { kind: 'ended' }, at(900));
      assert(state.phase === 'backingOff');
      assert.deepEqual([state.resumeFrom, state.delayMs], ['100', 800]);
    }
    assert.equal(next(watching({ heard: 'event' }), { kind: 'ended' }, at(900)).phase, 'watching');
  });

  it('a list whose stream ends before it is complete is listed again', () => {
    const state = next(INITIAL, { kind: 'ended' }, at(9_000));
    assert(state.phase === 'backingOff');
    assert.equal(state.resumeFrom, undefined);
  });

  it('P01: a resumed stream that stayed silent past the bookmarks has a bad resume point, so it lists', () => {
    for (const input of [{ kind: 'failed' }, { kind: 'ended' }] as const) {
      const state = next(watching(), input, at(80_000));
      assert(state.phase === 'backingOff');
      assert.equal(state.resumeFrom, undefined, input.kind);
    }
    const heardBefore = next(watching({ heard: 'bookmark' }), { kind: 'failed' }, at(80_000));
    assert(heardBefore.phase === 'backingOff');
    assert.equal(heardBefore.resumeFrom, '100');
  });

  it('P06b: a resume point that was never answered is given up after five attempts', () => {
    const resumePoints = [1, 2, 3, 4, 5, 6].map((attempt) => {
      const state = next(watching({ attempt: attempt - 1, healthySinceMs: undefined }), { kind: 'failed' }, at(10));
      assert(state.phase === 'backingOff');
      return state.resumeFrom;
    });
    assert.deepEqual(resumePoints, ['100', '100', '100', '100', '100', undefined]);
  });

  it('P57: backs off to half a minute, for ever', () => {
    let state: ReflectorState = INITIAL;
    const delays = Array.from({ length: 1_100 }, () => {
      const failed = next(state, { kind: 'failed' }, at(0, 0.999_999));
      assert(failed.phase === 'backingOff');
      state = next(failed, { kind: 'waited' }, at(0));
      return Math.round(failed.delayMs);
    });
    assert.deepEqual(delays.slice(0, 7), [1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000]);
    assert.equal(delays.at(-1), 30_000);
  });

  it('starts over with short delays after two healthy minutes', () => {
    const fields = { attempt: 6, heard: 'event', healthySinceMs: 1_000 } as const;
    const early = next(watching(fields), { kind: 'failed' }, at(120_000));
    const late = next(watching(fields), { kind: 'failed' }, at(121_000));
    assert.deepEqual([early.attempt, late.attempt], [7, 1]);
  });

  it('clean ends do not interrupt health', () => {
    const state = run(
      watching({ attempt: 4, healthySinceMs: 1_000, openedAtMs: 1_000 }),
      [60_500, { kind: 'event', resourceVersion: '101' }],
      [60_600, { kind: 'ended' }],
      [121_500, { kind: 'event', resourceVersion: '102' }],
      [121_600, { kind: 'failed' }],
    );
    assert.equal(state.attempt, 1);
  });

  it('returns when the server said, not earlier and not all at once (429, 503)', () => {
    const delayOf = (retryAfterMs: number, fraction: number) => {
      const state = next(watching(), { kind: 'failed', retryAfterMs }, at(10, fraction));
      assert(state.phase === 'backingOff');
      return state.delayMs;
    };
    assert.equal(delayOf(20_000, 0), 20_800);
    assert.equal(delayOf(20_000, 0.5), 21_200);
    assert.equal(delayOf(0, 0), 800, 'a Retry-After of zero is no licence for a loop');
    assert.equal(delayOf(86_400_000, 0), 120_800, 'nor a day a reason to stop');
  });

  it('waits for a kind that is not there (404), lists when it comes, and holds the wait against nobody', () => {
    const state = next(watching({ attempt: 9, healthySinceMs: undefined }), { kind: 'absent' }, at(10, 0.5));
    assert(state.phase === 'backingOff');
    assert.deepEqual([state.resumeFrom, state.delayMs, state.attempt], [undefined, 2_400, 0]);
  });
});

describe('reflector state: properties', () => {
  const version = fc.integer({ min: 1, max: 400 }).map(String);
  const input: fc.Arbitrary<ReflectorInput> = fc.oneof(
    version.map((resourceVersion) => ({ kind: 'listed', resourceVersion }) as const),
    version.map((resourceVersion) => ({ kind: 'event', resourceVersion }) as const),
    version.map((resourceVersion) => ({ kind: 'bookmark', resourceVersion }) as const),
    version.map((resourceVersion) => ({ kind: 'checked', resourceVersion }) as const),
    fc.record({ kind: fc.constant('failed' as const), retryAfterMs: fc.nat(1e9) }),
    fc
      .constantFrom('ended', 'expired', 'absent', 'unsupported', 'failed', 'distrusted', 'waited', 'asked')
      .map((kind) => ({ kind }) as ReflectorInput),
  );

  it('no input in no phase stops it: it always lists, watches, or waits for a bounded time that is never short', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(input, fc.nat(100_000), fc.double({ min: 0, max: 0.99, noNaN: true }))),
        (steps) => {
          let state: ReflectorState = INITIAL;
          let nowMs = 0;
          for (const [step, passed, fraction] of steps) {
            nowMs += passed;
            const before = state;
            state = next(state, step, at(nowMs, fraction));
            if (state.phase === 'backingOff' && state !== before) {
              assert(state.delayMs >= 800 && state.delayMs <= 121_600, `${state.delayMs}`);
            }
            // Between two lists the resume point only grows.
            if (before.phase === 'watching' && state.phase === 'watching' && step.kind !== 'listed') {
              assert(Number(state.resourceVersion) >= Number(before.resourceVersion));
            }
          }
        },
      ),
    );
  });

  it('jitter spreads a delay over its upper half', () => {
    assert.deepEqual(
      [backoffMs(1, 0), backoffMs(1, 0.5), backoffMs(3, 0), backoffMs(50, 0)],
      [800, 1_200, 3_200, 15_000],
    );
  });
});
