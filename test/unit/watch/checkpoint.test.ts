import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Kind } from '../../../shared/kube/kind.ts';
import {
  checkpointOf,
  decodeCheckpoint,
  earliest,
  encodeCheckpoint,
  kindsToList,
  type Origin,
} from '../../../shared/watch/checkpoint.ts';
import { Coalescer, type Parcel } from '../../../shared/watch/coalesce.ts';
import { itemKey } from '../../support/work-items.ts';

const origin = (kind: string, after: string): Origin => ({ kind, after });

describe('checkpoint', () => {
  it('is what was heard of each kind when nothing waits', () => {
    const heard = new Map([
      ['Widget.dev', '7'],
      ['Deployment.apps', '9'],
    ]);
    assert.deepEqual(checkpointOf(heard, []), { 'Widget.dev': '7', 'Deployment.apps': '9' });
  });

  it('R20: does not pass what the broker has not taken; versions are compared as Kubernetes does', () => {
    const heard = new Map([
      ['Widget.dev', '1000'],
      ['Deployment.apps', '1002'],
    ]);
    const waiting = [[origin('Widget.dev', '998')], [origin('Widget.dev', '99'), origin('Deployment.apps', '1002')]];
    assert.deepEqual(checkpointOf(heard, waiting), { 'Widget.dev': '99', 'Deployment.apps': '1002' });
  });

  it('R20: there is none for a kind whose list the broker has not taken', () => {
    const heard = new Map([
      ['Widget.dev', '1000'],
      ['Deployment.apps', '1002'],
    ]);
    const waiting = [[origin('Widget.dev', 'list')], [origin('Widget.dev', '999')]];
    assert.deepEqual(checkpointOf(heard, waiting), { 'Deployment.apps': '1002' });
  });

  it('of two doorbells that became one the earlier origin of each kind stays', () => {
    const a = [origin('Widget.dev', '9'), origin('Deployment.apps', 'list')];
    const b = [origin('Widget.dev', '10'), origin('Deployment.apps', '3'), origin('Service', '4')];
    const both = [origin('Widget.dev', '9'), origin('Deployment.apps', 'list'), origin('Service', '4')];
    assert.deepEqual(earliest(a, b), both);
    assert.deepEqual(new Set(earliest(b, a)), new Set(both));
  });

  it('survives its annotation; what somebody else has written there is no checkpoint', () => {
    const checkpoint = { 'Widget.dev': '7' };
    assert.deepEqual(decodeCheckpoint(encodeCheckpoint(checkpoint)), checkpoint);
    for (const text of [undefined, '', 'null', '[', '7', '"x"', '{"Widget.dev":7}']) {
      assert.deepEqual(decodeCheckpoint(text), {}, text);
    }
  });
});

describe('which kinds are listed after a start', () => {
  const kind = (name: string): Kind => ({ group: '', version: 'v1', kind: name, plural: name, namespaced: true });
  const [a, b, c, d] = [kind('A'), kind('B'), kind('C'), kind('D')];
  const watchers = [
    { name: 'one', kind: a, owns: [b] },
    { name: 'two', kind: c, owns: [b, d] },
    { name: 'three', kind: kind('E'), owns: [] },
  ];
  const all = { A: '1', B: '1', C: '1', D: '1', E: '1' };

  it('none when the checkpoint knows all', () => {
    assert.deepEqual(kindsToList(watchers, all), new Set());
  });

  it('all of a watcher when it does not know one of them, and so on', () => {
    assert.deepEqual(kindsToList(watchers, { ...all, A: undefined as never }), new Set());
    const { A: _, ...withoutA } = all;
    assert.deepEqual(kindsToList(watchers, withoutA), new Set(['A', 'B', 'C', 'D']));
    const { E: __, ...withoutE } = all;
    assert.deepEqual(kindsToList(watchers, withoutE), new Set(['E']));
  });
});

describe('checkpoint: properties', () => {
  const kinds = ['Widget.dev', 'Deployment.apps'] as const;
  const step = fc.oneof(
    fc.record({ do: fc.constant('event' as const), kind: fc.constantFrom(...kinds), object: fc.nat(3) }),
    fc.record({ do: fc.constant('take' as const) }),
    fc.record({ do: fc.constant('settle' as const), pick: fc.nat(9), well: fc.boolean() }),
    fc.record({ do: fc.constant('wait' as const), ms: fc.nat(100) }),
  );

  it('R20: whatever is merged, fails and waits: everything up to the checkpoint has been taken, and in the end it is all', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        const coalescer = new Coalescer({ windowMs: 25 });
        const heard = new Map<string, string>(kinds.map((kind) => [kind, '100']));
        const missing = new Map<string, Set<number>>(kinds.map((kind) => [kind, new Set()]));
        /** By object: the versions that its next doorbell will tell, in whatever words. */
        const waiting = new Map<string, number[]>();
        const underWay: { readonly parcel: Parcel; readonly tells: readonly number[] }[] = [];
        let [version, now] = [100, 0];

        const take = (): boolean => {
          const parcel = coalescer.take('changes', now);
          if (parcel === undefined) return false;
          const { name } = parcel.ring.doorbell.key;
          underWay.push({ parcel, tells: waiting.get(name) ?? [] });
          waiting.delete(name);
          return true;
        };
        const settle = (pick: number, well: boolean): void => {
          const [sent] = underWay.splice(pick % Math.max(1, underWay.length), 1);
          if (sent === undefined) return;
          const { parcel, tells } = sent;
          if (!well) {
            const { name } = parcel.ring.doorbell.key;
            waiting.set(name, [...tells, ...(waiting.get(name) ?? [])]);
            coalescer.failed(parcel, now + 40);
          } else {
            coalescer.delivered(parcel);
            for (const told of tells) for (const versions of missing.values()) versions.delete(told);
          }
        };
        const check = (): void => {
          for (const [kind, reached] of Object.entries(coalescer.checkpoint(heard))) {
            const lost = [...(missing.get(kind) ?? [])].filter((missed) => missed <= Number(reached));
            assert.deepEqual(lost, [], `${kind} got to ${reached}`);
          }
        };
        for (const action of steps) {
          switch (action.do) {
            case 'event': {
              const after = heard.get(action.kind) ?? '';
              version += 1;
              const name = `o${action.object}`;
              const versions = [{ uid: name, resourceVersion: String(version) }];
              waiting.set(name, [...(waiting.get(name) ?? []), version]);
              const key = itemKey({ name });
              const doorbell = { key, news: { kind: 'versions', versions }, trigger: 'test' } as const;
              coalescer.offer({ topic: 'changes', doorbell }, now, [origin(action.kind, after)]);
              heard.set(action.kind, String(version));
              missing.get(action.kind)?.add(version);
              break;
            }
            case 'take':
              take();
              break;
            case 'settle':
              settle(action.pick, action.well);
              break;
            case 'wait':
              now += action.ms;
          }
          check();
        }
        for (let rounds = 0; coalescer.size > 0 && rounds < 30; rounds += 1) {
          now += 1_000;
          while (take());
          while (underWay.length > 0) settle(0, true);
          coalescer.take('background', now);
        }
        assert.deepEqual(coalescer.checkpoint(heard), Object.fromEntries(heard));
      }),
      { numRuns: 300 },
    );
  });
});
