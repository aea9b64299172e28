import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { describe, it } from 'node:test';
import { createGuard } from '../../shared/adapters/cockatiel/guard.ts';
import { fromDocument, SHARDS, toDocument } from '../../shared/adapters/firestore/document.ts';
import { openFirestoreWorkStore } from '../../shared/adapters/firestore/work-store.ts';
import { SystemRandom } from '../../shared/adapters/system/random.ts';
import { itemKey, workItem } from '../support/work-items.ts';
import { workStoreContract } from './work-store.ts';

const { FIRESTORE_EMULATOR_HOST: emulator } = process.env;
// The library would look for the metadata server of a Google machine, which costs seconds elsewhere.
Object.assign(process.env, { METADATA_SERVER_DETECTION: 'none' });

const skip = emulator === undefined && 'FIRESTORE_EMULATOR_HOST is not set';

function open(clusters: readonly string[], databaseId?: string) {
  // Like the functions': what fails in company is tried again alone.
  const guard = createGuard({ name: 'Firestore', timeoutMs: 10_000, retry: { maxAttempts: 3, maxDelayMs: 250 } });
  return openFirestoreWorkStore({
    projectId: 'demo-driftless',
    clusters,
    guard,
    random: new SystemRandom(),
    ...(databaseId === undefined ? {} : { databaseId }),
  });
}

workStoreContract(
  'firestore',
  async (clusters) => {
    const store = open(clusters);
    return { store, close: () => store.close() };
  },
  { skip },
);

workStoreContract(
  'firestore, a database with a name',
  async (clusters) => {
    const store = open(clusters, 'work-items');
    return { store, close: () => store.close() };
  },
  { skip },
);

describe('FirestoreWorkStore', () => {
  it('says which item it could not write when the database refuses it', { skip }, async () => {
    const store = open([]);
    const huge = workItem({ lastError: { code: 'HUGE', message: 'x'.repeat(1_100_000) } });
    await assert.rejects(store.write(huge, undefined, new AbortController().signal), {
      code: 'STORE_UNAVAILABLE',
      message: /^cannot write local\/webapp WebApp\.apps\.driftless\.dev default\/web: /,
    });
    await store.close();
  });

  it('stores what was written together with something that the database refuses', { skip }, async () => {
    const store = open([]);
    const never = new AbortController().signal;
    const huge = workItem({
      key: itemKey({ name: 'huge' }),
      lastError: { code: 'HUGE', message: 'x'.repeat(1_100_000) },
    });
    const small = workItem({ key: itemKey({ name: randomUUID() }) });
    const [refused, stored] = await Promise.allSettled([
      store.write(huge, undefined, never),
      store.write(small, undefined, never),
    ]);
    assert.equal(refused.status, 'rejected');
    assert.deepEqual([stored.status, (await store.read(small.key, never)).item?.key], ['fulfilled', small.key]);
    await store.close();
  });

  it('refuses a document that a build of another format wrote, instead of guessing', () => {
    const document = { ...toDocument(workItem(), 'nonce'), format: 2 };
    assert.throws(() => fromDocument(document), { code: 'UNKNOWN_FORMAT', retry: { kind: 'never' } });
  });

  it('never lets an alarm be found before its time, which would be no news', () => {
    const document = toDocument(workItem({ alarm: { wakeAt: 1_767_225_600_000.001, reason: 'requeue' } }), 'nonce');
    assert.deepEqual(document['wakeAt'], new Date('2026-01-01T00:00:00.001Z'));
  });

  it('spreads alarms over all shards', () => {
    const items = Array.from({ length: 500 }, (_, n) => workItem({ key: itemKey({ name: `web-${n}` }) }));
    const shards = new Set(items.map((item) => toDocument(item, 'nonce')['shard']));
    assert.deepEqual(
      [...shards].sort((a, b) => a - b),
      SHARDS,
    );
  });
});
