import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { Story } from '../../../infra/cli/story.ts';

function hear(...lines: readonly object[]): readonly string[] {
  const story = new Story();
  return lines.flatMap((line) => story.hear(JSON.stringify(line))).map((text) => stripVTControlCharacters(text));
}

const published = {
  message: 'doorbell published',
  trigger: 'ADDED WebApp default/shop',
  topic: 'changes',
  messageId: '7',
  lagMs: 12.34,
};
const finished = {
  message: 'run finished',
  trigger: 'ADDED WebApp default/shop',
  messageId: '7',
  token: 42,
  durationMs: 20.5,
  outcome: 'settled',
  next: 'idle',
  writes: [
    { verb: 'create', object: 'Service default/shop', fields: [], durationMs: 4.2 },
    {
      verb: 'status',
      object: 'WebApp.apps.driftless.dev default/shop',
      fields: [{ path: 'status.phase', want: 'Ready' }],
      durationMs: 3,
    },
  ],
};
const answered = (decision: string) => ({
  message: 'doorbell answered',
  trigger: 'MODIFIED Deployment default/shop',
  decision,
});

describe('the story of the demo', () => {
  it('tells the way of an event: watch, message, claim, calls, status', () => {
    assert.deepEqual(hear(published, finished), [
      '  watch     ADDED WebApp default/shop → message 7 to changes (12 ms)',
      '  claim     token 42 for message 7 (ADDED WebApp default/shop)',
      '  call      create Service default/shop (4.2 ms)',
      '  status    WebApp.apps.driftless.dev default/shop (3.0 ms)',
      '            status.phase: none → Ready',
      '  done      settled, then idle (21 ms)',
    ]);
  });

  it('puts long values below each other, as a diff', () => {
    const [have, want] = ['False (Progressing): one of three replicas.', 'True (Ready): three of three replicas.'];
    const status = {
      verb: 'status',
      object: 'WebApp.apps.driftless.dev default/shop',
      fields: [{ path: 'status.conditions[type=Ready]', have, want }],
      durationMs: 3,
    };
    assert.deepEqual(hear({ ...finished, writes: [status] }).slice(2, 5), [
      '            status.conditions[type=Ready]',
      '            - False (Progressing): one of three replicas.',
      '            + True (Ready): three of three replicas.',
    ]);
  });

  it('counts what needed no run, and tells it with the next thing that happens', () => {
    assert.deepEqual(hear(answered('no-news'), answered('dirty'), answered('claimed'), answered('dirty'), published), [
      '  answer    1 × no news (one read), 2 × the object is being worked on, and will be looked at again',
      '  watch     ADDED WebApp default/shop → message 7 to changes (12 ms)',
    ]);
  });

  it('says what was refused, and why a run failed', () => {
    const refused = { verb: 'apply', object: 'Service default/shop', fields: [], durationMs: 1, error: 'CONFLICT' };
    const error = { code: 'TIMEOUT', message: 'the API server did not answer' };
    assert.deepEqual(hear({ ...finished, writes: [refused], error, outcome: 'failed', next: 'wake' }), [
      '  claim     token 42 for message 7 (ADDED WebApp default/shop)',
      '  call      apply Service default/shop (1.0 ms) refused: CONFLICT',
      '  error     TIMEOUT: the API server did not answer',
      '  done      failed, then an alarm (21 ms)',
    ]);
  });

  it('passes over lines that are not part of it', () => {
    const story = new Story();
    assert.deepEqual(
      [...story.hear('Serving function...'), ...story.hear('{"message":"other"}'), ...story.hear('{broken')],
      [],
    );
  });
});
