import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { after, before, describe, it } from 'node:test';
import type { Kind } from '../../shared/kube/kind.ts';
import type { ObjectMeta, Stored } from '../../shared/kube/object.ts';
import { WatchExpiredError } from '../../shared/kube/watch-error.ts';
import type { WatchEvent } from '../../shared/kube/watch-event.ts';
import type { Cluster } from '../../shared/ports/cluster.ts';
import type { MetadataSource, WatchStart } from '../../shared/ports/metadata-source.ts';
import { put, sessionOf } from '../support/session.ts';
import { type Gizmo, gizmo } from './cluster-contract.ts';

/** A source to test, with a cluster to change what it tells. Nobody else writes objects of `kind`. */
export interface MetadataSourceFixture {
  readonly source: MetadataSource;
  readonly cluster: Cluster;
  readonly kind: Kind<Gizmo>;
  namespace(): Promise<string>;
  close(): Promise<void>;
}

const DEADLINE_MS = 20_000;

/** What the forwarder relies on, held against every implementation. */
export function metadataSourceContract(
  name: string,
  newFixture: () => Promise<MetadataSourceFixture>,
  skip?: string,
): void {
  describe(`MetadataSource contract: ${name}`, () => {
    let fixture: MetadataSourceFixture;
    let namespace: string;
    before(async () => {
      if (skip !== undefined) return;
      fixture = await newFixture();
      namespace = await fixture.namespace();
    });
    after(() => fixture?.close());
    const claim = (text: string, test: () => Promise<void>) => it(text, { skip: skip ?? false }, test);

    const signal = () => AbortSignal.timeout(DEADLINE_MS);
    const apply = async (metadata: ObjectMeta, spec: Gizmo['spec'] = { size: 1 }): Promise<Stored<Gizmo>> => {
      const object = gizmo(fixture.kind, { namespace, ...metadata }, spec);
      return await put(sessionOf(fixture.cluster), fixture.kind, object, {
        fieldManager: 'contract',
        signal: signal(),
      });
    };
    const remove = (object: Stored<Gizmo>) => sessionOf(fixture.cluster).delete(fixture.kind, object, signal());
    /** The events up to and including the first one that `isLast` holds for. */
    const collect = async (start: WatchStart, isLast: (event: WatchEvent) => boolean): Promise<WatchEvent[]> => {
      const events: WatchEvent[] = [];
      for await (const event of fixture.source.watch(fixture.kind, start, signal())) {
        events.push(event);
        if (isLast(event)) return events;
      }
      throw new Error('the watch ended');
    };

    claim('lists nothing, and streams nothing but the end of the list, when there is nothing', async () => {
      const { items, resourceVersion } = await fixture.source.list(fixture.kind, signal());
      assert.deepEqual(items, []);
      assert.match(resourceVersion, /^[1-9][0-9]*$/);
      const events = await collect({ from: 'list' }, isEnd);
      assert.deepEqual(events.map(summary), ['BOOKMARK end']);
    });

    claim(
      'P76: tells metadata only, without managedFields and without what kubectl copied into an annotation',
      async () => {
        const annotations = { kept: 'yes', 'kubectl.kubernetes.io/last-applied-configuration': '{"data":"secret"}' };
        const object = await apply({ name: 'meta', labels: { a: 'b' }, annotations }, { note: 'not metadata' });
        const { managedFields: _, ...expected } = { ...object.metadata, annotations: { kept: 'yes' } };

        const { items } = await fixture.source.list(fixture.kind, signal());
        const [added] = await collect({ from: 'list' }, isEnd);
        await remove(object);

        assert.deepEqual(items, [expected]);
        assert.deepEqual(added, { type: 'ADDED', meta: expected });
      },
    );

    claim('R20: streams what exists, marks its end, and goes on with what happens', async () => {
      const first = await apply({ name: 'first' });
      const events: string[] = [];
      for await (const event of fixture.source.watch(fixture.kind, { from: 'list' }, signal())) {
        // An ordinary bookmark may come at any time.
        if (isChange(event) || isEnd(event)) events.push(summary(event));
        if (isEnd(event)) {
          await apply({ name: 'second' });
          await remove(await apply({ name: 'second' }, { size: 2 }));
        }
        if (event.type === 'DELETED') break;
      }
      await remove(first);
      assert.deepEqual(events, ['ADDED first', 'BOOKMARK end', 'ADDED second', 'MODIFIED second', 'DELETED second']);
    });

    claim('R20: tells after a version exactly what happened since, deletions included', async () => {
      await apply({ name: 'before' });
      const { resourceVersion } = await fixture.source.list(fixture.kind, signal());
      const before = await apply({ name: 'before' }, { size: 2 });
      const during = await apply({ name: 'during' });
      await remove(during);
      await remove(before);
      const events = await collect({ from: 'version', resourceVersion }, (e) => summary(e) === 'DELETED before');
      assert.deepEqual(events.filter(isChange).map(summary), [
        'MODIFIED before',
        'ADDED during',
        'DELETED during',
        'DELETED before',
      ]);
    });

    claim('a deletion carries a resourceVersion of its own, newer than the last state', async () => {
      const { resourceVersion } = await fixture.source.list(fixture.kind, signal());
      const object = await apply({ name: 'gone' });
      await remove(object);
      const events = await collect({ from: 'version', resourceVersion }, (e) => e.type === 'DELETED');
      const deleted = events.at(-1);
      assert.ok(deleted?.type === 'DELETED');
      assert.equal(deleted.meta.uid, object.metadata.uid);
      assert.ok(Number(deleted.meta.resourceVersion) > Number(object.metadata.resourceVersion));
    });

    claim('an object that keeps a finalizer is modified by its deletion, not deleted', async () => {
      const { resourceVersion } = await fixture.source.list(fixture.kind, signal());
      const object = await apply({ name: 'held', finalizers: ['test.driftless.dev/hold'] });
      await remove(object);
      await apply({ name: 'held' });
      const events = await collect({ from: 'version', resourceVersion }, (e) => e.type === 'DELETED');
      assert.deepEqual(events.filter(isChange).map(summary), ['ADDED held', 'MODIFIED held', 'DELETED held']);
    });

    claim('P06a: a version that is too old expires', async () => {
      await assert.rejects(
        collect({ from: 'version', resourceVersion: '1' }, () => false),
        WatchExpiredError,
      );
    });

    claim('a watch that waits ends with the reason of the abort', async () => {
      const stop = new AbortController();
      const reason = new Error('enough');
      const watching = (async () => {
        for await (const event of fixture.source.watch(fixture.kind, { from: 'list' }, stop.signal)) {
          if (isEnd(event)) setImmediate(() => stop.abort(reason));
        }
      })();
      await assert.rejects(watching, (error) => error === reason);
    });

    claim('leaves nothing behind on the signal of a watch that was given up', async () => {
      const { signal: forever } = new AbortController();
      for (let i = 0; i < 3; i++) {
        for await (const event of fixture.source.watch(fixture.kind, { from: 'list' }, forever)) {
          if (isEnd(event)) break;
        }
      }
      const deadline = signal();
      while (getEventListeners(forever, 'abort').length > 0) {
        deadline.throwIfAborted();
        await new Promise(setImmediate);
      }
    });
  });
}

function isEnd(event: WatchEvent): boolean {
  return event.type === 'BOOKMARK' && event.initialEventsEnd;
}

function isChange(event: WatchEvent): boolean {
  return event.type !== 'BOOKMARK';
}

function summary(event: WatchEvent): string {
  if (event.type === 'BOOKMARK') return event.initialEventsEnd ? 'BOOKMARK end' : 'BOOKMARK';
  return `${event.type} ${event.meta.name}`;
}
