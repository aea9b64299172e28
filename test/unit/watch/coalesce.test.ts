import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { News, Topic } from '../../../shared/message/doorbell.ts';
import { TenantBudgets } from '../../../shared/queue/tenant-budgets.ts';
import { Agenda } from '../../../shared/watch/agenda.ts';
import { Coalescer, merge, type Parcel } from '../../../shared/watch/coalesce.ts';
import type { Ring } from '../../../shared/watch/mapping.ts';

interface Options {
  readonly name?: string;
  readonly namespace?: string;
  readonly topic?: Topic;
  readonly uid?: string;
  readonly generation?: number;
  readonly trigger?: string;
}

function ring(
  news: News,
  { name = 'w', namespace = 'default', topic = 'changes', trigger = 'MODIFIED', ...known }: Options = {},
): Ring {
  const key = { cluster: 'local', controller: 'widget', group: 'g', kind: 'Widget', namespace, name };
  return { topic, doorbell: { key, news, trigger, ...known } };
}

/** `versions('w@1', 'd@2')` */
function versions(...texts: readonly string[]): News {
  return { kind: 'versions', versions: texts.map(toVersion) };
}

function census(...texts: readonly string[]): News {
  return { kind: 'census', versions: texts.map(toVersion) };
}

function toVersion(text: string) {
  const [uid = '', resourceVersion = ''] = text.split('@');
  return { uid, resourceVersion };
}

function take(coalescer: Coalescer, topic: Topic, nowMs: number): Parcel {
  const parcel = coalescer.take(topic, nowMs);
  assert(parcel !== undefined, `nothing is due at ${nowMs}`);
  return parcel;
}

describe('coalescing', () => {
  it('the first ring of a quiet object goes at once, what follows goes together when the window closes', () => {
    const coalescer = new Coalescer({ windowMs: 25 });
    coalescer.offer(ring(versions('w@1')), 1_000);
    const first = take(coalescer, 'changes', 1_000);
    assert.deepEqual(first.ring.doorbell.news, versions('w@1'));
    coalescer.delivered(first);

    coalescer.offer(ring(versions('w@2')), 1_003);
    coalescer.offer(ring(versions('d@7')), 1_010);
    assert.equal(coalescer.take('changes', 1_024), undefined);
    assert.equal(coalescer.nextAt('changes'), 1_025);
    const second = take(coalescer, 'changes', 1_025);
    assert.deepEqual([second.ring.doorbell.news, second.sinceMs], [versions('w@2', 'd@7'), 1_003]);
  });

  it('P69: two changes of one instant become one ring with the later state', () => {
    const coalescer = new Coalescer();
    coalescer.offer(ring(versions('w@1')), 0);
    coalescer.offer(ring(versions('w@2')), 0);
    assert.deepEqual(take(coalescer, 'changes', 0).ring.doorbell.news, versions('w@2'));
  });

  it('I5: an object that changes 100 times a second rings once a second in the end, and quickly again after a rest', () => {
    const coalescer = new Coalescer();
    const rung: number[] = [];
    const flap = (fromMs: number, toMs: number) => {
      for (let now = fromMs; now < toMs; now += 1) {
        if (now % 10 === 0) coalescer.offer(ring(versions(`w@${now}`)), now);
        for (const topic of ['changes', 'background'] as const) {
          const parcel = coalescer.take(topic, now);
          if (parcel === undefined) continue;
          rung.push(now - fromMs);
          coalescer.delivered(parcel);
        }
      }
    };
    flap(0, 6_000);
    assert.deepEqual(
      rung,
      [0, 25, 50, 75, 100, 125, 150, 175, 200, 250, 350, 550, 950, 1_750, 2_750, 3_750, 4_750, 5_750],
    );
    coalescer.delivered(take(coalescer, 'changes', 60_000));
    assert.equal(coalescer.take('background', 61_000), undefined);
    assert.equal(coalescer.size, 0);
    rung.length = 0;
    flap(70_000, 70_100);
    assert.deepEqual(rung, [0, 25, 50, 75]);
  });

  it('an object that stays quiet is forgotten', () => {
    const coalescer = new Coalescer({ windowMs: 25 });
    coalescer.offer(ring(versions('w@1')), 0);
    coalescer.delivered(take(coalescer, 'changes', 0));
    assert.equal(coalescer.size, 1);
    assert.equal(coalescer.take('background', 25), undefined);
    assert.equal(coalescer.size, 0);
  });

  it('P60: what the broker did not take waits for its retry, together with what came meanwhile', () => {
    const coalescer = new Coalescer({ windowMs: 25 });
    coalescer.offer(ring(versions('w@1', 'd@5')), 0);
    coalescer.failed(take(coalescer, 'changes', 0), 1_000);
    coalescer.offer(ring(versions('w@2')), 500);
    assert.equal(coalescer.take('changes', 999), undefined);
    const again = take(coalescer, 'changes', 1_000);
    assert.deepEqual([again.ring.doorbell.news, again.failures, again.sinceMs], [versions('w@2', 'd@5'), 1, 0]);
  });

  it('P72: a failing object keeps no other one waiting', () => {
    const coalescer = new Coalescer();
    coalescer.offer(ring(versions('a@1'), { name: 'a' }), 0);
    coalescer.offer(ring(versions('b@1'), { name: 'b' }), 0);
    coalescer.failed(take(coalescer, 'changes', 0), 30_000);
    assert.equal(take(coalescer, 'changes', 0).ring.doorbell.key.name, 'b');
  });

  it('of one object at most one ring is under way', () => {
    const coalescer = new Coalescer({ windowMs: 25 });
    coalescer.offer(ring(versions('w@1')), 0);
    const first = take(coalescer, 'changes', 0);
    coalescer.offer(ring(versions('w@2')), 5);
    assert.equal(coalescer.take('changes', 500), undefined);
    coalescer.delivered(first);
    assert.deepEqual(take(coalescer, 'changes', 500).ring.doorbell.news, versions('w@2'));
  });

  it("R24: a user's change takes a waiting background ring along", () => {
    const coalescer = new Coalescer();
    coalescer.offer(ring(census('w@1', 'd@2'), { topic: 'background', trigger: 'LISTED' }), 0);
    coalescer.offer(ring(versions('w@3'), { trigger: 'MODIFIED' }), 0);
    assert.equal(coalescer.take('background', 0), undefined);
    const { ring: sent } = take(coalescer, 'changes', 0);
    assert.deepEqual([sent.doorbell.news, sent.doorbell.trigger], [census('w@3', 'd@2'), 'MODIFIED']);
    assert.equal(coalescer.take('changes', 10_000), undefined);
  });
});

describe('merging two rings', () => {
  const cases: readonly (readonly [claim: string, earlier: News, later: News, merged: News])[] = [
    [
      'keeps the newest version of each uid',
      versions('w@9', 'd@10'),
      versions('w@11', 'd@8'),
      versions('w@11', 'd@10'),
    ],
    ['compares versions as numbers', versions('w@99'), versions('w@100'), versions('w@100')],
    [
      'updates a census with what came after it',
      census('w@1', 'd@2'),
      versions('d@5', 'e@6'),
      census('w@1', 'd@5', 'e@6'),
    ],
    ['lets a census stand for all before it', versions('w@1', 'gone@2'), census('w@3'), census('w@3')],
    [
      'lets the last census stand, so that no deleted child is revived',
      census('w@1', 'd@2'),
      census('w@1'),
      census('w@1'),
    ],
    ['stays unknown', { kind: 'unknown' }, census('w@1'), { kind: 'unknown' }],
    ['becomes unknown', versions('w@1'), { kind: 'unknown' }, { kind: 'unknown' }],
    [
      'is unknown beyond what a message holds',
      versions('a@1', 'b@1', 'c@1', 'd@1', 'e@1'),
      versions('f@1', 'g@1', 'h@1', 'i@1'),
      { kind: 'unknown' },
    ],
  ];
  for (const [claim, earlier, later, merged] of cases) {
    it(claim, () => assert.deepEqual(merge(ring(earlier), ring(later)).doorbell.news, merged));
  }

  it('keeps uid and generation, the newest of each', () => {
    const both = merge(
      ring(versions('w@2'), { uid: 'w', generation: 5 }),
      ring(versions('d@3'), { uid: 'w', generation: 4 }),
    );
    assert.deepEqual([both.doorbell.uid, both.doorbell.generation], ['w', 5]);
    const unnamed = merge(ring(versions('w@2'), { uid: 'w', generation: 5 }), ring(versions('d@3')));
    assert.deepEqual([unnamed.doorbell.uid, unnamed.doorbell.generation], ['w', 5]);
  });

  it('an object that was recreated takes over the name: its uid, its generation, and always a run', () => {
    const old = ring(versions('w1@5'), { uid: 'w1', generation: 9 });
    const recreated = merge(old, ring(versions('w2@7'), { uid: 'w2', generation: 1 })).doorbell;
    assert.deepEqual([recreated.uid, recreated.generation, recreated.news], ['w2', 1, { kind: 'unknown' }]);
  });

  it('changes win over background, in either order', () => {
    const background = ring(census('w@1'), { topic: 'background', trigger: 'LISTED' });
    const changes = ring(versions('w@2'), { trigger: 'MODIFIED' });
    for (const both of [merge(background, changes), merge(changes, background)]) {
      assert.deepEqual([both.topic, both.doorbell.trigger], ['changes', 'MODIFIED']);
    }
  });
});

describe('coalescing: budgets of tenants', () => {
  /** Two rings a second for each tenant, and two at once; four a second in the background. */
  function world() {
    const budgets = new TenantBudgets(2);
    const coalescer = new Coalescer({ windowMs: 25, budgets, demotedPerSecond: 4 });
    return {
      budgets,
      coalescer,
      offer(namespace: string, ...names: readonly string[]): void {
        for (const name of names) coalescer.offer(ring(versions(`${name}@1`), { name, namespace }), 0);
      },
      /** The names of all that is due, and settles them. */
      taken(topic: Topic, nowMs: number): readonly string[] {
        const names: string[] = [];
        for (let p = coalescer.take(topic, nowMs); p !== undefined; p = coalescer.take(topic, nowMs)) {
          names.push(p.ring.doorbell.key.name);
          coalescer.delivered(p);
        }
        return names;
      },
    };
  }

  it('R24: what is over its budget waits for the next turn of its tenant, and delays nobody else', () => {
    const { offer, taken, coalescer } = world();
    offer('noisy', 'a', 'b', 'c', 'd', 'e');
    offer('quiet', 'q');
    assert.deepEqual(taken('changes', 0), ['a', 'b', 'c', 'q']);
    assert.equal(coalescer.heldBack, 2);
    assert.equal(coalescer.nextAt('changes'), 500);
    assert.deepEqual(taken('changes', 499), []);
    assert.deepEqual(taken('changes', 500), ['d']);
    assert.deepEqual(taken('changes', 1_000), ['e']);
    assert.equal(coalescer.heldBack, 0);
  });

  it('R24: what is over its budget goes to the background at a bounded rate, and the tenants take turns', () => {
    const { offer, taken, budgets, coalescer } = world();
    offer('noisy', 'a', 'b', 'c', 'd', 'e', 'f', 'g');
    offer('second', 'r', 's', 't', 'u', 'v');
    assert.deepEqual(taken('changes', 0), ['a', 'b', 'c', 'r', 's', 't']);
    assert.deepEqual(taken('background', 0), ['d']);
    assert.equal(coalescer.nextAt('background'), 25); // Windows that close.
    assert.deepEqual(taken('background', 149), []);
    assert.equal(coalescer.nextAt('background'), 150);
    assert.deepEqual(taken('background', 150), ['u']);
    assert.deepEqual(taken('background', 400), ['e']);
    assert.deepEqual(taken('changes', 500), ['v', 'f']);
    assert.deepEqual(budgets.stats, { overBudget: 2, demoted: 3 });
  });

  it('what waits over its budget is one ring for each object, with the newest it knows', () => {
    const { offer, coalescer, taken } = world();
    offer('noisy', 'a', 'b', 'c', 'd');
    taken('changes', 0);
    for (let version = 2; version <= 100; version += 1) {
      coalescer.offer(ring(versions(`d@${version}`), { name: 'd', namespace: 'noisy' }), version);
    }
    assert.equal(coalescer.heldBack, 1);
    const { doorbell, topic } = take(coalescer, 'background', 100).ring;
    assert.deepEqual([topic, doorbell.news], ['background', versions('d@100')]);
  });
});

describe('coalescing: properties', () => {
  const WINDOW = 25;
  const OBJECTS = 4;
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constant('offer' as const),
        object: fc.nat(OBJECTS - 1),
        uid: fc.nat(2),
        background: fc.boolean(),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const), background: fc.boolean() }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('settle' as const), well: fc.boolean(), pick: fc.nat(9) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.nat(60) }) },
  );

  /** Budgets that a few rings use up, or the usual ones. */
  const budget = fc.constantFrom({ perSecond: 2, demotedPerSecond: 4 }, { perSecond: 50, demotedPerSecond: 200 });

  it('nothing is lost, one message at most for each object and window, and memory is bounded by the objects', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 120, size: 'max' }), budget, (steps, { perSecond, demotedPerSecond }) => {
        const budgets = new TenantBudgets(perSecond);
        const coalescer = new Coalescer({ windowMs: WINDOW, budgets, demotedPerSecond });
        const offered: {
          readonly name: string;
          readonly uid: string;
          readonly version: number;
          readonly order: number;
        }[] = [];
        const delivered: { readonly parcel: Parcel; readonly order: number }[] = [];
        const underWay: { readonly parcel: Parcel; readonly order: number }[] = [];
        const lastTaken = new Map<string, number>();
        let now = 0;
        let order = 0;

        const takeOne = (topic: Topic) => {
          const parcel = coalescer.take(topic, now);
          if (parcel === undefined) return false;
          const { name } = parcel.ring.doorbell.key;
          assert(now - (lastTaken.get(name) ?? Number.NEGATIVE_INFINITY) >= WINDOW, 'two messages in one window');
          assert(!underWay.some((other) => other.parcel.ring.doorbell.key.name === name), 'two messages under way');
          assert.equal(parcel.ring.topic, topic);
          lastTaken.set(name, now);
          underWay.push({ parcel, order });
          return true;
        };
        const settleOne = (pick: number, well: boolean) => {
          const [sent] = underWay.splice(pick % Math.max(1, underWay.length), 1);
          if (sent === undefined) return;
          if (well) coalescer.delivered(sent.parcel);
          else coalescer.failed(sent.parcel, now + 40);
          if (well) delivered.push(sent);
        };

        for (const action of steps) {
          order += 1;
          switch (action.do) {
            case 'offer': {
              const [name, uid] = [`o${action.object}`, `o${action.object}-${action.uid}`];
              offered.push({ name, uid, version: order, order });
              coalescer.offer(
                ring(versions(`${uid}@${order}`), {
                  name,
                  namespace: `n${action.object % 2}`,
                  topic: action.background ? 'background' : 'changes',
                }),
                now,
              );
              break;
            }
            case 'take':
              takeOne(action.background ? 'background' : 'changes');
              break;
            case 'settle':
              settleOne(action.pick, action.well);
              break;
            case 'wait':
              now += action.ms;
          }
          assert(coalescer.size <= OBJECTS && coalescer.heldBack <= coalescer.size);
        }
        for (let rounds = 0; coalescer.size > 0; rounds += 1) {
          assert(rounds < 20, 'it does not come to rest');
          order += 1;
          now += 1_000;
          while (takeOne('changes') || takeOne('background'));
          while (underWay.length > 0) settleOne(0, true);
        }

        for (const { name, uid, version, order: since } of offered) {
          const told = delivered.some(
            ({
              parcel: {
                ring: { doorbell },
              },
              order: taken,
            }) =>
              taken >= since &&
              doorbell.key.name === name &&
              'versions' in doorbell.news &&
              doorbell.news.versions.some((v) => v.uid === uid && Number(v.resourceVersion) >= version),
          );
          assert(told, `${uid}@${version} was lost`);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('the agenda hands out everything in order of time, and in order of arrival within an instant', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20), { maxLength: 200, size: 'max' }), (times) => {
        const agenda = new Agenda<number>();
        for (const [index, at] of times.entries()) agenda.add(at, index);
        const expected = times.map((at, index) => ({ at, index })).sort((a, b) => a.at - b.at || a.index - b.index);
        assert.equal(agenda.nextAt, expected[0]?.at);
        assert.deepEqual(
          times.map(() => agenda.take(20)),
          expected.map(({ index }) => index),
        );
        assert.equal(agenda.take(20), undefined);
      }),
    );
  });
});
