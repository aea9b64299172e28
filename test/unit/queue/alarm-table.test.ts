import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AlarmTable, type UpcomingAlarm } from '../../../shared/queue/alarm-table.ts';
import { itemKey } from '../../support/work-items.ts';

const alarm = (id: string, wakeAt: number): UpcomingAlarm => ({
  id,
  wakeAt,
  key: itemKey({ name: id }),
  reason: 'requeue',
});

/** A table whose first window has been opened at time 0. */
function newTable(limit = 3): AlarmTable {
  const table = new AlarmTable({ limit, graceMs: 30_000 });
  table.open(0);
  return table;
}

/** The names of all that is due, in order; from then on they count as rung. */
function takeAll(table: AlarmTable, nowMs: number): readonly string[] {
  const names: string[] = [];
  for (let taken = table.take(nowMs); taken !== undefined; taken = table.take(nowMs)) names.push(taken.id);
  return names;
}

describe('alarm table', () => {
  it('P51: gives what is due, oldest first, and knows when the next one is', () => {
    const table = newTable();
    table.show([alarm('a', 1_000), alarm('b', 2_000), alarm('c', 3_000)], 0);
    assert.equal(table.nextAt, 1_000);
    assert.deepEqual(takeAll(table, 999), []);
    assert.deepEqual(takeAll(table, 2_000), ['a', 'b']);
    assert.equal(table.nextAt, 3_000);
    assert.deepEqual(takeAll(table, 3_000), ['c']);
    assert.equal(table.nextAt, undefined);
  });

  it('gives an alarm once, however often it is shown', () => {
    const table = newTable();
    for (const nowMs of [1_000, 1_001, 15_000, 30_999]) {
      table.show([alarm('a', 1_000)], nowMs);
      assert.deepEqual(takeAll(table, nowMs), nowMs === 1_000 ? ['a'] : []);
    }
  });

  it('gives an alarm again that was not answered within the grace time: its message may be lost', () => {
    const table = newTable();
    table.show([alarm('a', 1_000)], 1_000);
    assert.deepEqual(takeAll(table, 1_000), ['a']);
    table.show([alarm('a', 1_000)], 2_000);
    assert.equal(table.nextAt, 31_000);
    assert.deepEqual(takeAll(table, 30_999), []);
    assert.deepEqual(takeAll(table, 31_000), ['a']);
  });

  it('R13: gives what a dead holder left again soon, then ever later: the instance that got it may be as dead', () => {
    for (const reason of ['lease', 'handover'] as const) {
      const table = newTable();
      const rungAt: number[] = [];
      for (let nowMs = 6_000; nowMs <= 90_000; nowMs += 250) {
        table.show([{ ...alarm('a', 6_000), reason }], nowMs);
        if (takeAll(table, nowMs).length > 0) rungAt.push(nowMs - 6_000);
      }
      assert.deepEqual(rungAt, [0, 1_000, 3_000, 7_000, 15_000, 31_000, 61_000]);
    }
  });

  it('gives an alarm of the same item at once when it has changed', () => {
    const table = newTable();
    table.show([alarm('a', 1_000)], 1_000);
    assert.deepEqual(takeAll(table, 1_000), ['a']);
    table.show([alarm('a', 1_500)], 1_400);
    assert.deepEqual(takeAll(table, 1_500), ['a']);
  });

  it('does not give what was answered, moved away or removed before its time', () => {
    const table = newTable();
    table.show([alarm('a', 1_000)], 500);
    table.show([], 600);
    assert.equal(table.nextAt, undefined);
    assert.deepEqual(takeAll(table, 60_000), []);
  });

  it('gives what could not be sent again', () => {
    const table = newTable();
    table.show([alarm('a', 1_000), alarm('b', 1_001)], 1_001);
    const first = table.take(1_001);
    assert(first?.id === 'a');
    table.giveBack(first);
    assert.deepEqual(takeAll(table, 1_001), ['a', 'b']);
  });

  it('looks four seconds ahead from the earliest alarm on, for at most so many', () => {
    const table = new AlarmTable({ limit: 3, graceMs: 30_000 });
    assert.deepEqual(table.open(10_000), { untilMs: 14_000, limit: 3 });
  });

  it('keeps what it holds while the next window is opened', () => {
    const table = newTable();
    table.show([alarm('a', 4_000)], 3_000);
    table.open(3_000);
    assert.deepEqual(takeAll(table, 4_000), ['a']);
  });

  it('moves on when a full window has been rung, answered or not', () => {
    const table = newTable(2);
    table.show([alarm('a', 1), alarm('b', 1)], 1_000);
    assert.equal(table.isSpent(1_000), false);
    table.take(1_000);
    assert.equal(table.isSpent(1_000), false);
    table.take(1_000);
    assert.equal(table.isSpent(1_000), true);
    assert.deepEqual(table.open(1_000), { untilMs: 5_000, limit: 2, after: { wakeAt: 1, id: 'b' } });
    table.show([alarm('c', 2), alarm('d', 5_000)], 1_000);
    assert.deepEqual(takeAll(table, 1_000), ['c']);
    assert.equal(table.isSpent(1_000), false);
  });

  it('stays where alarms may still come up: an alarm is stored a little after its time was read', () => {
    const table = newTable();
    table.show([alarm('a', 1_000), alarm('b', 2_000)], 3_000);
    takeAll(table, 3_000);
    assert.deepEqual(table.open(3_000), { untilMs: 7_000, limit: 3 });
    table.show([alarm('a', 1_000), alarm('b', 2_000)], 3_000);
    assert.deepEqual(table.open(6_000), { untilMs: 10_000, limit: 3, after: { wakeAt: 1_000, id: 'a' } });
  });

  it('never moves past an alarm that has not been rung', () => {
    const table = newTable(2);
    table.show([alarm('a', 1), alarm('b', 2)], 10_000);
    table.take(10_000);
    assert.deepEqual(table.open(10_000).after, { wakeAt: 1, id: 'a' });
  });

  it('begins again after a grace time, so that unanswered alarms are rung again, but not before it has been through', () => {
    const table = newTable(2);
    table.show([alarm('a', 1), alarm('b', 1)], 1_000);
    takeAll(table, 1_000);
    assert.deepEqual(table.open(30_000).after, { wakeAt: 1, id: 'b' });
    table.show([alarm('c', 2), alarm('d', 2)], 30_000);
    takeAll(table, 30_000);
    assert.deepEqual(table.open(31_000).after, { wakeAt: 2, id: 'd' });
    table.show([], 31_000);
    assert.equal(table.open(34_000).after, undefined);
    table.show([alarm('a', 1), alarm('b', 1)], 34_000);
    assert.deepEqual(takeAll(table, 34_000), ['a', 'b']);
  });

  it('does not let alarms that nobody answers keep others waiting', () => {
    const table = newTable(2);
    const dead = [alarm('x', 1), alarm('y', 1)];
    table.show(dead, 40_000);
    takeAll(table, 40_000);
    table.open(40_000);
    table.show([], 40_000);
    assert.equal(table.open(70_000).after, undefined);
    table.show(dead, 70_000);
    assert.deepEqual(takeAll(table, 70_000), ['x', 'y']);
    assert.equal(table.isSpent(70_000), true);
    assert.deepEqual(table.open(70_000).after, { wakeAt: 1, id: 'y' });
  });

  it('forgets what it rang after twice the grace time: it holds no more than it can ring in that time', () => {
    const table = newTable(1);
    for (let n = 0; n < 1_000; n += 1) {
      const nowMs = n * 1_000;
      table.show([alarm(`a${n}`, nowMs)], nowMs);
      takeAll(table, nowMs);
    }
    assert.deepEqual(table.size, { held: 1, remembered: 60 });
  });
});
