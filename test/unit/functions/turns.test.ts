import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { Turns } from '../../../functions/turns.ts';
import type { Topic } from '../../../shared/message/doorbell.ts';
import type { Delivery } from '../../../shared/message/push.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { LogBook } from '../../support/memory-runtime.ts';
import { doorbell, itemKey } from '../../support/work-items.ts';

function delivery(namespace: string, topic: Topic = 'changes'): Delivery {
  return {
    messageId: 'm',
    deliveryAttempt: 1,
    topic,
    doorbell: doorbell({ kind: 'unknown' }, { key: itemKey({ namespace }) }),
  };
}

/** Turns of an instance with two slots, of which a tenant gets one. */
function world(room = 2) {
  const log = new LogBook();
  const turns = new Turns({ slots: 2, room, clock: new FakeClock(), log });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    log,
    started,
    turns,
    /** Work that lasts until it is ended. */
    take: (name: string, of: Delivery, signal = new AbortController().signal) =>
      turns.take(of, signal, async () => {
        started.push(name);
        await new Promise<void>((resolve) => ends.set(name, resolve));
        return `${name} done`;
      }),
    async end(name: string): Promise<void> {
      ends.get(name)?.();
      await turn();
    },
  };
}

describe('turns of deliveries', () => {
  it('R24: a delivery waits for its turn, changes before the background', async () => {
    const { take, end, started } = world(4);
    const first = take('first', delivery('a'));
    const late = take('late', delivery('a', 'background'));
    const soon = take('soon', delivery('a'));
    assert.deepEqual(started, ['first']);
    await end('first');
    assert.deepEqual(started, ['first', 'soon']);
    await end('soon');
    assert.deepEqual(started, ['first', 'soon', 'late']);
    await end('late');
    assert.deepEqual(await Promise.all([first, soon, late]), ['first done', 'soon done', 'late done']);
  });

  it('what does not fit is turned away at once, and the log says so once', async () => {
    const { take, end, log } = world();
    const kept = [take('a1', delivery('a')), take('a2', delivery('a'))];
    for (let n = 0; n < 5; n += 1) assert.equal(await take('more', delivery('a')), undefined);
    await end('a1');
    await end('a2');
    assert.deepEqual(await Promise.all(kept), ['a1 done', 'a2 done']);
    assert.deepEqual(
      log.lines.map(({ level, message, fields }) => [level, message, fields]),
      [
        ['warn', 'no room for more deliveries', { running: 1, waiting: 1 }],
        ['info', 'room for deliveries again', { turnedAway: 5 }],
      ],
    );
  });

  it('a wait that is given up is answered at once and does not start; a work under way goes on', async () => {
    const { take, end, started } = world();
    const stopping = new AbortController();
    const first = take('first', delivery('a'), stopping.signal);
    const second = take('second', delivery('a'), stopping.signal);
    stopping.abort();
    assert.equal(await second, undefined);
    assert.equal(await take('third', delivery('a'), stopping.signal), undefined);
    await end('first');
    assert.equal(await first, 'first done');
    assert.deepEqual(started, ['first']);
  });

  it('when the instance ends, whoever waits is turned away at once, and work under way goes on', async () => {
    const { take, end, turns, started } = world();
    const first = take('first', delivery('a'));
    const second = take('second', delivery('a'));
    turns.stop();
    assert.equal(await second, undefined);
    await end('first');
    assert.equal(await first, 'first done');
    assert.deepEqual(started, ['first']);
  });

  it('a work that throws gives its slot back', async () => {
    const turns = new Turns({ slots: 1, room: 0, clock: new FakeClock(), log: new LogBook() });
    const { signal } = new AbortController();
    const failing = turns.take(delivery('a'), signal, () => Promise.reject(new Error('broken')));
    await assert.rejects(failing, /broken/);
    assert.equal(await turns.take(delivery('a'), signal, async () => 'done'), 'done');
  });
});
