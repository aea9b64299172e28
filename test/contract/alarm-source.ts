import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import type { AlarmSource, AlarmView } from '../../shared/ports/alarm-source.ts';
import type { Revision, WorkStore } from '../../shared/ports/work-store.ts';
import type { AlarmWindow } from '../../shared/queue/alarm-table.ts';
import type { ItemKey, WorkItem } from '../../shared/queue/work-item.ts';
import { itemKey, workItem } from '../support/work-items.ts';

export interface AlarmSourceFixture {
  readonly store: WorkStore;
  /** The alarms of one of the store's clusters. */
  alarmsOf(cluster: string): AlarmSource;
  close(): Promise<void>;
}

export interface AlarmSourceContractOptions {
  /** Why these tests cannot run here. */
  readonly skip?: string | false;
}

/** What every source of alarms promises, next to a store that is empty. */
export function alarmSourceContract(
  name: string,
  newFixture: () => Promise<AlarmSourceFixture>,
  { skip = false }: AlarmSourceContractOptions = {},
): void {
  describe(`AlarmSource contract: ${name}`, { skip }, () => {
    const { signal } = new AbortController();
    let fixture: AlarmSourceFixture;
    let clusters = 0;

    before(async () => {
      fixture = await newFixture();
    });
    after(async () => {
      await fixture.close();
    });

    /** A cluster of this test's own, in which alarms count from now, by the store's time. */
    async function world(test: TestContext) {
      clusters += 1;
      const cluster = `alarms-${process.pid}-${Date.now()}-${clusters}`;
      const source = fixture.alarmsOf(cluster);
      const start = Math.floor((await source.state(signal)).nowMs);
      const revisions = new Map<string, Revision>();

      async function write(item: WorkItem): Promise<void> {
        const swap = await fixture.store.write(item, revisions.get(item.key.name), signal);
        assert(swap.kind === 'stored');
        revisions.set(item.key.name, swap.revision);
      }
      return {
        source,
        start,
        keyOf: (name: string): ItemKey => itemKey({ cluster, name }),
        set: (name: string, inMs: number, of = cluster): Promise<void> =>
          write(workItem({ key: itemKey({ cluster: of, name }), alarm: { wakeAt: start + inMs, reason: 'requeue' } })),
        clear: (name: string): Promise<void> => write(workItem({ key: itemKey({ cluster, name }) })),
        remove: async (name: string): Promise<void> => {
          const removed = await fixture.store.remove(
            itemKey({ cluster, name }),
            revisions.get(name) ?? 'never written',
            signal,
          );
          assert.equal(removed, 'stored');
        },
        follow(window: Partial<AlarmWindow> = {}): Reader {
          const reader = new Reader(source, { untilMs: start + 60_000, limit: 10, ...window });
          test.after(() => reader.stop());
          return reader;
        },
      };
    }

    it('has the time of the store', async (test) => {
      const { source, keyOf } = await world(test);
      const before = (await fixture.store.read(keyOf('none'), signal)).nowMs;
      const { nowMs: now } = await source.state(signal);
      const after = (await fixture.store.read(keyOf('none'), signal)).nowMs;
      assert(before <= now && now <= after, `${before} <= ${now} <= ${after}`);
    });

    it('has an epoch that is the same for all who ask, whatever is written and removed', async (test) => {
      const { source, set, remove, keyOf } = await world(test);
      const { epoch } = await source.state(signal);
      await set('a', 10);
      await remove('a');
      assert.equal((await source.state(signal)).epoch, epoch);
      assert.equal((await fixture.alarmsOf(keyOf('').cluster).state(signal)).epoch, epoch);
    });

    it('has one epoch also for those who ask for the first time at once', async () => {
      clusters += 1;
      const cluster = `alarms-${process.pid}-${Date.now()}-${clusters}`;
      const sources = Array.from({ length: 5 }, () => fixture.alarmsOf(cluster));
      const states = await Promise.all(sources.map((source) => source.state(signal)));
      assert.equal(new Set(states.map(({ epoch }) => epoch)).size, 1);
    });

    it('keeps the epoch out of what is listed', async (test) => {
      const { set, keyOf, source } = await world(test);
      await source.state(signal);
      await set('a', 10);
      const { cluster } = keyOf('');
      const listed = await fixture.store.list(cluster, { limit: 10 }, signal);
      assert.deepEqual(
        listed.map(({ key }) => key.name),
        ['a'],
      );
    });

    it('P51: shows at once what is due or soon, earliest first, with its key and time; or that there is nothing', async (test) => {
      const { set, clear, follow, start, keyOf, source } = await world(test);
      assert.deepEqual(await follow().names(), []);
      await set('soon', 20_000);
      await set('due', -5_000);
      await set('later', 60_001);
      await set('another-cluster', 0, `${keyOf('').cluster}-other`);
      await clear('without');
      const { alarms, nowMs } = await follow().next();
      assert.deepEqual(
        alarms.map(({ key, wakeAt }) => [key, wakeAt - start]),
        [
          [keyOf('due'), -5_000],
          [keyOf('soon'), 20_000],
        ],
      );
      assert(nowMs >= start);
      assert(nowMs <= (await source.state(signal)).nowMs);
    });

    it('shows an alarm that is set, moved, answered, or gone with its item', async (test) => {
      const { set, clear, remove, follow } = await world(test);
      const reader = follow();
      assert.deepEqual(await reader.names(), []);
      await set('a', 10);
      assert.deepEqual(await reader.names(), ['a']);
      await set('b', 5);
      assert.deepEqual(await reader.names(), ['b', 'a']);
      await set('a', 1);
      assert.deepEqual(await reader.names(), ['a', 'b']);
      await clear('a');
      assert.deepEqual(await reader.names(), ['b']);
      await set('b', 60_001);
      assert.deepEqual(await reader.names(), []);
      await set('b', 60_000);
      assert.deepEqual(await reader.names(), ['b']);
      await remove('b');
      assert.deepEqual(await reader.names(), []);
    });

    it('says nothing of what happens outside of the window', async (test) => {
      const { set, clear, follow } = await world(test);
      const reader = follow();
      assert.deepEqual(await reader.names(), []);
      for (let claim = 0; claim < 5; claim += 1) {
        await set('run', 60_001);
        await clear('run');
      }
      await set('inside', 1);
      assert.deepEqual(await reader.names(), ['inside']);
    });

    it('shows no more than the limit, and what comes next when there is room', async (test) => {
      const { set, clear, follow } = await world(test);
      for (const [n, name] of ['a', 'b', 'c', 'd'].entries()) await set(name, n);
      const reader = follow({ limit: 2 });
      assert.deepEqual(await reader.names(), ['a', 'b']);
      await clear('a');
      assert.deepEqual(await reader.until(2), ['b', 'c']);
      await set('e', -1);
      assert.deepEqual(await reader.until(2), ['e', 'b']);
    });

    it('begins behind any alarm that it has shown, also among those of one time, and misses none', async (test) => {
      const { set, follow } = await world(test);
      const names = ['a', 'b', 'c', 'd', 'e'];
      for (const name of names) await set(name, 7);
      await set('last', 8);
      const shown: string[] = [];
      let after: AlarmWindow['after'];
      for (let window = 0; window < 3; window += 1) {
        const { alarms } = await follow(after === undefined ? { limit: 2 } : { limit: 2, after }).next();
        shown.push(...alarms.map(({ key }) => key.name));
        after = alarms.at(-1);
      }
      assert.deepEqual(shown.sort(), [...names, 'last'].sort());
    });

    it('shows a reader that was busy how it is now', async (test) => {
      const { set, follow } = await world(test);
      const [reader, watched] = [follow(), follow()];
      assert.deepEqual(await reader.names(), []);
      for (const [n, name] of ['a', 'b', 'c'].entries()) await set(name, n);
      assert.deepEqual(await watched.until(3), ['a', 'b', 'c']);
      assert.deepEqual(await reader.until(3), ['a', 'b', 'c']);
    });

    it('ends without error when it is told to', async (test) => {
      const { follow } = await world(test);
      const reader = follow();
      await reader.next();
      await reader.stop();
      assert.equal(await reader.ended(), true);
      const never = follow();
      await never.stop();
      assert.equal(await never.ended(), true);
    });
  });
}

/** Reads one window view by view. */
class Reader {
  readonly #stop = new AbortController();
  readonly #views: AsyncIterator<AlarmView>;

  constructor(source: AlarmSource, window: AlarmWindow) {
    this.#views = source.follow(window, this.#stop.signal)[Symbol.asyncIterator]();
  }

  async next(): Promise<AlarmView> {
    const { value, done } = await this.#views.next();
    assert(done !== true, 'the stream goes on');
    return value;
  }

  async names(): Promise<readonly string[]> {
    return (await this.next()).alarms.map(({ key }) => key.name);
  }

  /** The first view with so many alarms: a store may show how it gets there. */
  async until(count: number): Promise<readonly string[]> {
    for (;;) {
      const names = await this.names();
      if (names.length === count) return names;
    }
  }

  async ended(): Promise<boolean> {
    return (await this.#views.next()).done === true;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
  }
}
