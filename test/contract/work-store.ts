import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Swap, WorkStore } from '../../shared/ports/work-store.ts';
import type { ItemKey, WorkItem } from '../../shared/queue/work-item.ts';
import { child, itemKey, workItem } from '../support/work-items.ts';

export interface WorkStoreFixture {
  readonly store: WorkStore;
  close(): Promise<void>;
}

export interface WorkStoreContractOptions {
  /** Why these tests cannot run here. */
  readonly skip?: string | false;
}

/** What every work store promises. `newFixture` opens a store whose `due` looks at the given clusters, both empty. */
export function workStoreContract(
  name: string,
  newFixture: (clusters: readonly string[]) => Promise<WorkStoreFixture>,
  { skip = false }: WorkStoreContractOptions = {},
): void {
  describe(`WorkStore contract: ${name}`, { skip }, () => {
    const clusters = [`east-${process.pid}-${Date.now()}`, `west-${process.pid}-${Date.now()}`] as const;
    const { signal } = new AbortController();
    let fixture: WorkStoreFixture;
    let store: WorkStore;

    before(async () => {
      fixture = await newFixture(clusters);
      store = fixture.store;
    });
    after(async () => {
      await fixture.close();
    });

    const item = (name: string, fields: Partial<WorkItem> = {}): WorkItem =>
      emptyItem(keyOf(clusters[0], name), fields);

    async function create(created: WorkItem): Promise<string> {
      const swap = await store.write(created, undefined, signal);
      assert(swap.kind === 'stored');
      return swap.revision;
    }

    it('knows nothing of an item that was never written', async () => {
      const { item: found, revision } = await store.read(keyOf(clusters[0], 'never'), signal);
      assert.equal(found, undefined);
      assert.equal(revision, undefined);
    });

    it('gives back a full item as it was written', async () => {
      const full = fullItem(keyOf(clusters[0], 'full'));
      const revision = await create(full);
      const reading = await store.read(full.key, signal);
      assert.deepEqual(reading.item, full);
      assert.equal(reading.revision, revision);
    });

    it('keeps nothing of what an item said before', async () => {
      const full = fullItem(keyOf(clusters[0], 'replaced'));
      const revision = await create(full);
      const bare = emptyItem(full.key, { seen: { generation: 8, versions: { 'uid-2': '90' }, gone: [] } });
      assert.equal((await store.write(bare, revision, signal)).kind, 'stored');
      assert.deepEqual((await store.read(full.key, signal)).item, bare);
    });

    it('lets exactly one of ten create an item', async () => {
      assert.equal(await winnersOf(10, (n) => store.write(item('create-race', { token: n }), undefined, signal)), 1);
    });

    it('lets exactly one of ten change an item', async () => {
      const revision = await create(item('change-race'));
      assert.equal(await winnersOf(10, (n) => store.write(item('change-race', { token: n }), revision, signal)), 1);
    });

    it('lets exactly one of ten store the same content that is there already', async () => {
      const revision = await create(item('equal-race'));
      assert.equal(await winnersOf(10, () => store.write(item('equal-race'), revision, signal)), 1);
    });

    it('refuses a stale revision and leaves the item alone', async () => {
      const stale = await create(item('stale', { token: 1 }));
      const swap = await store.write(item('stale', { token: 2 }), stale, signal);
      assert(swap.kind === 'stored');
      assert.deepEqual(await store.write(item('stale', { token: 3 }), stale, signal), { kind: 'lost' });
      assert.equal(await store.remove(item('stale').key, stale, signal), 'lost');
      const { item: found, revision } = await store.read(item('stale').key, signal);
      assert.equal(found?.token, 2);
      assert.equal(revision, swap.revision);
    });

    it('removes an item, and what compares with it is lost from then on', async () => {
      const revision = await create(item('removed'));
      assert.equal(await store.remove(item('removed').key, revision, signal), 'stored');
      assert.equal((await store.read(item('removed').key, signal)).item, undefined);
      assert.equal((await store.write(item('removed'), revision, signal)).kind, 'lost');
      assert.equal(await store.remove(item('removed').key, revision, signal), 'lost');
      assert.notEqual(await create(item('removed')), revision);
    });

    it('has a time that never goes back, and moves on with every write: tokens are made of it', async () => {
      const times: number[] = [];
      let revision: string | undefined;
      for (let n = 0; n < 20; n += 1) {
        times.push(Math.round((await store.read(item('time').key, signal)).nowMs * 1000));
        const swap = await store.write(item('time', { token: n }), revision, signal);
        assert(swap.kind === 'stored');
        revision = swap.revision;
      }
      assert.deepEqual(
        times,
        [...new Set(times)].sort((a, b) => a - b),
      );
      const first = await store.read(item('time').key, signal);
      const second = await store.read(item('time').key, signal);
      assert(second.nowMs >= first.nowMs);
    });

    it('keeps the items of clusters apart, also when everything else about them is equal', async () => {
      const [east, west] = [keyOf(clusters[0], 'twin'), keyOf(clusters[1], 'twin')];
      await create(emptyItem(east, { token: 1 }));
      assert.equal((await store.read(west, signal)).item, undefined);
      await create(emptyItem(west, { token: 2 }));
      assert.equal((await store.read(east, signal)).item?.token, 1);
    });

    it('keeps apart what differs in controller, group, kind, namespace or name only', async () => {
      const base = keyOf(clusters[0], 'apart');
      const keys: ItemKey[] = [
        base,
        { ...base, controller: 'other' },
        { ...base, group: 'other.dev' },
        { ...base, kind: 'Other' },
        { ...base, namespace: 'other' },
        { ...base, namespace: '' },
        { ...base, name: 'apart2' },
      ];
      for (const [n, key] of keys.entries()) await create(emptyItem(key, { token: n }));
      const tokens = await Promise.all(keys.map(async (key) => (await store.read(key, signal)).item?.token));
      assert.deepEqual(tokens, [0, 1, 2, 3, 4, 5, 6]);
    });

    it('P51: finds the items whose alarm is due in all its clusters, longest overdue first, up to a limit', async () => {
      const { nowMs } = await store.read(item('clock').key, signal);
      const alarm = (wakeAt: number): Partial<WorkItem> => ({ alarm: { wakeAt, reason: 'requeue' } });
      await create(emptyItem(keyOf(clusters[0], 'due-2nd'), alarm(nowMs - 2_000)));
      await create(emptyItem(keyOf(clusters[1], 'due-3rd'), alarm(nowMs - 1_000)));
      await create(emptyItem(keyOf(clusters[0], 'due-1st'), alarm(nowMs - 3_000)));
      await create(emptyItem(keyOf(clusters[0], 'later'), alarm(nowMs + 60_000)));
      const without = await create(emptyItem(keyOf(clusters[1], 'answered'), alarm(nowMs - 4_000)));
      await store.write(emptyItem(keyOf(clusters[1], 'answered')), without, signal);

      const names = async (limit: number) => (await store.due(limit, signal)).map(({ key }) => key.name);
      assert.deepEqual(await names(10), ['due-1st', 'due-2nd', 'due-3rd']);
      assert.deepEqual(await names(2), ['due-1st', 'due-2nd']);
      assert.deepEqual(await store.due(1, signal), [{ key: keyOf(clusters[0], 'due-1st'), reason: 'requeue' }]);
    });

    it('lists the items of one cluster page by page, each of them once', async () => {
      const cluster = `${clusters[0]}-list`;
      const names = ['one', 'two', 'three', 'four', 'five'];
      for (const name of names) await create(fullItem(keyOf(cluster, name)));
      const pages: (readonly WorkItem[])[] = [];
      for (let after: ItemKey | undefined; pages.length < 9; after = pages.at(-1)?.at(-1)?.key) {
        const page = await store.list(cluster, after === undefined ? { limit: 2 } : { after, limit: 2 }, signal);
        pages.push(page);
        if (page.length < 2) break;
      }
      assert.deepEqual(
        pages.map(({ length }) => length),
        [2, 2, 1],
      );
      const listed = pages.flat();
      assert.deepEqual(listed.map(({ key }) => key.name).sort(), [...names].sort());
      assert.deepEqual(listed[0], fullItem(keyOf(cluster, listed[0]?.key.name ?? '')));
      assert.deepEqual(await store.list(`${cluster}-none`, { limit: 2 }, signal), []);
    });

    it('does not start what was aborted', async () => {
      const gone = AbortSignal.abort(new Error('stopped'));
      await assert.rejects(store.read(item('aborted').key, gone), { message: 'stopped' });
      await assert.rejects(store.write(item('aborted'), undefined, gone), { message: 'stopped' });
      await assert.rejects(store.remove(item('aborted').key, '1.0', gone), { message: 'stopped' });
      await assert.rejects(store.due(1, gone), { message: 'stopped' });
      await assert.rejects(store.list(clusters[0], { limit: 1 }, gone), { message: 'stopped' });
      assert.equal((await store.read(item('aborted').key, signal)).item, undefined);
    });
  });
}

/** How many of several writes at once were stored; the others lost. */
async function winnersOf(count: number, write: (n: number) => Promise<Swap>): Promise<number> {
  const swaps = await Promise.all(Array.from({ length: count }, (_, n) => write(n)));
  return swaps.filter(({ kind }) => kind === 'stored').length;
}

const keyOf = (cluster: string, name: string): ItemKey => itemKey({ cluster, name });

const emptyItem = (key: ItemKey, fields: Partial<WorkItem> = {}): WorkItem => workItem({ key, ...fields });

/** Every field filled, in ways that stores get wrong: fractions of a millisecond, large integers, dots in keys. */
function fullItem(key: ItemKey): WorkItem {
  return {
    key,
    uid: '3b1f0c9e-6f0a-4b0e-9a55-0d4c2f9f7a10',
    lease: {
      holderIdentity: 'reconcile-00001-abc.17',
      token: 1_767_225_600_123_456,
      renewTime: 1_767_225_600_123.456,
      leaseDurationMs: 6000,
      messageId: '9876543210',
    },
    token: 1_767_225_600_123_456,
    dirty: { kind: 'versions', versions: [{ uid: 'uid-1', resourceVersion: '12345' }] },
    failures: 3,
    lastError: { code: 'API_REFUSED', message: 'cannot apply Deployment.apps default/web: 403 Forbidden' },
    quarantine: { reason: 'INVALID_SPEC', generation: null },
    alarm: { wakeAt: 1_999_999_999_999.25, reason: 'lease' },
    bucket: { tokens: 17.123456, updatedAt: 1_767_225_600_123.456 },
    unfinished: { uid: 'uid-1', generation: 7, claims: 2 },
    unfenced: ['reconcile-00001-abc.17.1', 'reconcile-00001-abc.17.0'],
    seen: { generation: 7, versions: { 'uid-1': '12345', 'uid.with.dots': '9' }, gone: ['uid-0'] },
    children: [child('web', 'uid-1'), child('intended', null)],
    runs: [
      {
        at: 1_767_225_599_000.5,
        durationMs: 12.5,
        trigger: 'MODIFIED',
        writes: ['created Deployment'],
        outcome: 'settled',
      },
    ],
  };
}
