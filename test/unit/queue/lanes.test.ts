import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Topic } from '../../../shared/message/doorbell.ts';
import { Lanes, type Passenger } from '../../../shared/queue/lanes.ts';

interface Named extends Passenger {
  readonly name: string;
}

/** `changes('a', 3)`: a1, a2, a3 of tenant a */
function several(topic: Topic, tenant: string, count: number): readonly Named[] {
  return Array.from({ length: count }, (_, n) => ({ tenant, topic, name: `${tenant}${n + 1}` }));
}
const changes = (tenant: string, count = 1) => several('changes', tenant, count);
const background = (tenant: string, count = 1) => several('background', tenant, count);

function enter(lanes: Lanes, passengers: readonly Passenger[], nowMs = 0): readonly string[] {
  return passengers.map((passenger) => lanes.enter(passenger, nowMs));
}

function leave(lanes: Lanes, passengers: readonly Passenger[], nowMs = 0): readonly string[] {
  return passengers.flatMap((passenger) => lanes.leave(passenger, nowMs)).map((next) => (next as Named).name);
}

describe('lanes', () => {
  it('R24: one tenant gets half of the slots, so that the next one finds some', () => {
    const lanes = new Lanes({ slots: 8, room: 8 });
    assert.deepEqual(enter(lanes, changes('noisy', 5)), ['started', 'started', 'started', 'started', 'waiting']);
    assert.deepEqual(enter(lanes, changes('quiet')), ['started']);
    assert.deepEqual(enter(lanes, changes('third', 3)), ['started', 'started', 'waiting']);
    assert.deepEqual(lanes.size, { running: 7, waiting: 2 });
    assert.deepEqual(enter(lanes, changes('newcomer')), ['started']);
  });

  it('I5: tenants whose plans hang leave slots to the others', () => {
    const lanes = new Lanes({ slots: 16, room: 32 });
    enter(lanes, changes('hangs', 100));
    enter(lanes, changes('hangs-too', 100));
    for (let n = 0; n < 100; n += 1) {
      const [quiet] = changes('quiet');
      assert(quiet !== undefined);
      assert.equal(lanes.enter(quiet, n), 'started');
      lanes.leave(quiet, n);
    }
  });

  it('R24: changes go before the background', () => {
    const lanes = new Lanes({ slots: 1, room: 8 });
    const [first] = changes('a');
    assert(first !== undefined);
    enter(lanes, [first]);
    enter(lanes, background('b', 2));
    enter(lanes, changes('c', 2));
    assert.deepEqual(leave(lanes, [first]), ['c1']);
  });

  it('P52: what has waited in the background for five seconds counts like a change', () => {
    const lanes = new Lanes({ slots: 1, room: 100 });
    const order: string[] = [];
    let running: readonly Passenger[] = changes('busy');
    enter(lanes, running);
    enter(lanes, background('patient'), 0);
    for (let now = 0; order.at(-1) !== 'patient1'; now += 1_000) {
      assert(now < 10_000, 'it starves');
      enter(lanes, changes(`later-${now}-`, 2), now);
      const started = running.flatMap((passenger) => lanes.leave(passenger, now));
      order.push(...leave(lanes, []), ...started.map((next) => (next as Named).name));
      running = started;
    }
    assert.equal(order.length, 6);
  });

  it('R24: tenants take turns, however much one of them has waiting', () => {
    const lanes = new Lanes({ slots: 1, room: 100 });
    let running: readonly Passenger[] = changes('x');
    enter(lanes, running);
    enter(lanes, changes('noisy', 5));
    enter(lanes, changes('quiet', 2));
    enter(lanes, changes('third', 1));
    const order: string[] = [];
    while (running.length > 0) {
      running = running.flatMap((passenger) => lanes.leave(passenger, 0));
      order.push(...running.map((next) => (next as Named).name));
    }
    assert.deepEqual(order, ['noisy1', 'quiet1', 'third1', 'noisy2', 'quiet2', 'noisy3', 'noisy4', 'noisy5']);
  });

  it('R24: one tenant fills half of the places to wait in; what does not fit is told at once', () => {
    const lanes = new Lanes({ slots: 2, room: 4 });
    assert.deepEqual(enter(lanes, changes('noisy', 4)), ['started', 'waiting', 'waiting', 'full']);
    assert.deepEqual(enter(lanes, changes('quiet', 3)), ['started', 'waiting', 'full']);
  });

  it('who stops waiting makes room, and is not started', () => {
    const lanes = new Lanes({ slots: 2, room: 2 });
    const [a, b, c] = changes('a', 3);
    assert(a !== undefined && b !== undefined && c !== undefined);
    assert.deepEqual(enter(lanes, [a, b, c]), ['started', 'waiting', 'full']);
    assert.deepEqual(leave(lanes, [b]), []);
    assert.deepEqual(enter(lanes, [c]), ['waiting']);
    assert.deepEqual(leave(lanes, [a]), ['a3']);
  });

  it('P52: as long as slots come free, everything that waits starts, nobody waits who may start, and all is bounded', () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ tenant: fc.constantFrom('a', 'b', 'c'), background: fc.boolean() }) },
      { weight: 2, arbitrary: fc.record({ leaves: fc.nat(50) }) },
      { weight: 1, arbitrary: fc.record({ givesUp: fc.nat(50) }) },
    );
    const size = fc.record({ slots: fc.integer({ min: 1, max: 6 }), room: fc.integer({ min: 0, max: 8 }) });
    fc.assert(
      fc.property(size, fc.array(step, { maxLength: 100, size: 'max' }), ({ slots, room }, steps) => {
        const lanes = new Lanes({ slots, room, ageMs: 5 });
        const running = new Set<Passenger>();
        const waiting = new Set<Passenger>();
        const left = (passenger: Passenger, now: number) => {
          running.delete(passenger);
          waiting.delete(passenger);
          for (const next of lanes.leave(passenger, now)) {
            assert(waiting.delete(next), 'somebody starts who does not wait');
            running.add(next);
          }
        };
        for (const [now, action] of steps.entries()) {
          if ('tenant' in action) {
            const { tenant, background: late } = action;
            const passenger: Passenger = { tenant, topic: late ? 'background' : 'changes' };
            const place = lanes.enter(passenger, now);
            if (place === 'started') running.add(passenger);
            if (place === 'waiting') waiting.add(passenger);
          } else {
            const among = 'leaves' in action ? [...running] : [...waiting];
            const one = among[('leaves' in action ? action.leaves : action.givesUp) % Math.max(1, among.length)];
            if (one !== undefined) left(one, now);
          }
          assert(running.size <= slots && waiting.size <= room);
          assert.deepEqual(lanes.size, { running: running.size, waiting: waiting.size });
          assert(running.size > 0 || waiting.size === 0, 'a slot is free, and somebody waits');
        }
        // A tenant that never lets up: whoever waits starts before 100 more of it, one at a time, have come and gone.
        const before = [...waiting];
        for (let now = 100; now < 200 && running.size > 0; now += 1) {
          const passenger: Passenger = { tenant: 'a', topic: 'changes' };
          const place = lanes.enter(passenger, now);
          if (place === 'started') running.add(passenger);
          if (place === 'waiting') waiting.add(passenger);
          const [oldest] = running;
          if (oldest !== undefined) left(oldest, now);
        }
        assert(
          before.every((passenger) => !waiting.has(passenger)),
          'somebody starves',
        );
      }),
      { numRuns: 500 },
    );
  });
});
