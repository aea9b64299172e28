import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { explain, verdict } from '../../../infra/cli/explanation.ts';
import { released } from '../../../infra/cli/redrive.ts';
import type { WorkItem } from '../../../shared/queue/work-item.ts';
import { child, heldItem, runSummary, seen, workItem } from '../../support/work-items.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');

const say = (item: WorkItem, nowMs = NOW) => verdict(item, nowMs).map((line) => stripVTControlCharacters(line));

describe('explain', () => {
  it('R64: tells all there is to say about an object, with its last runs and its children', () => {
    const item = workItem({
      uid: 'a',
      token: 42,
      failures: 4,
      lastError: { code: 'TIMEOUT', message: 'the API server did not answer' },
      alarm: { wakeAt: NOW + 12_000, reason: 'backoff' },
      bucket: { tokens: 96.5, updatedAt: NOW - 1_000 },
      seen: seen({ generation: 3, versions: { a: '9' } }),
      children: [child('web', 'b'), child('next', null)],
      runs: [
        runSummary({ at: NOW - 3_000, durationMs: 12.4, outcome: 'TIMEOUT', trigger: 'alarm' }),
        runSummary({
          at: NOW - 60_000,
          durationMs: 20.5,
          trigger: 'ADDED WebApp default/web',
          writes: ['create Deployment.apps default/web', 'status WebApp.apps.driftless.dev default/web (CONFLICT)'],
        }),
      ],
    });
    assert.deepEqual(
      explain(item, NOW).map((line) => stripVTControlCharacters(line)),
      [
        'WebApp.apps.driftless.dev default/web (cluster local, controller webapp)',
        '',
        'It failed, and is tried again in 12 s, when something changes, or after',
        '  npx driftless redrive --cluster local --controller webapp default/web',
        '',
        '  uid          a',
        '  generation   3, as last read',
        '  lease        none (last token 42)',
        '  quarantine   none',
        '  alarm        backoff, in 12 s (2026-01-01T00:00:12Z)',
        '  failures     4 in a row',
        '  last error   TIMEOUT: the API server did not answer',
        '  runs left    97 of 100',
        '',
        'Last runs, newest first',
        '  2025-12-31T23:59:57Z  TIMEOUT in 12 ms, because of alarm',
        '  2025-12-31T23:59:00Z  settled in 21 ms, because of ADDED WebApp default/web',
        '      create Deployment.apps default/web',
        '      status WebApp.apps.driftless.dev default/web (CONFLICT)',
        '',
        'Children',
        '  Deployment.apps default/web b',
        '  Deployment.apps default/next (about to be made)',
      ],
    );
  });

  const alarm = (reason: NonNullable<WorkItem['alarm']>['reason'], afterMs: number): Partial<WorkItem> => ({
    alarm: { wakeAt: NOW + afterMs, reason },
  });
  const redrive = '  npx driftless redrive --cluster local --controller webapp default/web';

  for (const [claim, item, lines] of [
    ['at rest', workItem(), ['It is at rest. It runs again when it or one of its children changes.']],
    [
      'stopped',
      workItem({ quarantine: { reason: 'INVALID_SPEC', generation: 4 } }),
      ['It is stopped: INVALID_SPEC at generation 4. It runs again when its spec changes, or after', redrive],
    ],
    [
      'throttled',
      workItem(alarm('throttled', 400)),
      ['It runs too often, and has its next run in 400 ms: 100 at once, then one per second.'],
    ],
    [
      'waiting because its processes die',
      workItem({ ...alarm('backoff', 150_000), unfinished: { uid: 'a', generation: 1, claims: 7 } }),
      [
        'It waits: the last 7 runs ended with the death of their process. It is tried again in 3 min, when its spec',
        'changes, or after',
        redrive,
      ],
    ],
    [
      'at rest until later',
      workItem(alarm('requeue', 7_200_000)),
      ['It is at rest, and looked at again in 2 h, or when it or one of its children changes.'],
    ],
    ['about to run', workItem(alarm('rerun', 0)), ['It is about to run: something changed during its last run.']],
    ['about to run for a person', workItem(alarm('redrive', 0)), ['It is about to run: somebody redrove it.']],
    [
      'abandoned',
      heldItem(),
      ['Its run was abandoned: worker-1 died, or overslept its lease. Its alarm is due and starts another.'],
    ],
  ] as const) {
    it(`R64: says that an object is ${claim}`, () => {
      assert.deepEqual(say(item), lines);
    });
  }

  it('R64: says who works on an object, and that it will be looked at again', () => {
    assert.deepEqual(say(heldItem(), 2_000), ['It is being worked on by worker-1, for message m1.']);
    assert.deepEqual(say(heldItem({ dirty: { kind: 'unknown' } }), 2_000), [
      'It is being worked on by worker-1, for message m1. More has changed since: it runs once more after that.',
    ]);
  });
});

describe('redrive', () => {
  for (const [item, line] of [
    [
      workItem({ quarantine: { reason: 'INVALID_SPEC', generation: 4 } }),
      'released from quarantine (INVALID_SPEC), and rung',
    ],
    [
      workItem({ alarm: { wakeAt: NOW, reason: 'backoff' }, lastError: { code: 'HOLDER_LOST', message: '' } }),
      'released from backoff (HOLDER_LOST), and rung',
    ],
    [heldItem(), 'it is being worked on, and runs once more'],
    [workItem(), 'it was at rest, and is rung'],
  ] as const) {
    it(`R13: says '${line}'`, () => {
      assert.equal(released(item), line);
    });
  }
});
