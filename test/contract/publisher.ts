import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { TransientError } from '../../shared/errors.ts';
import { decode } from '../../shared/message/codec.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import type { Publisher, Topic } from '../../shared/ports/broker.ts';
import { doorbell as doorbellOf } from '../support/doorbells.ts';
import { itemKey } from '../support/work-items.ts';

export interface PublisherFixture {
  readonly publisher: Publisher;
  /** A publisher whose broker does not answer. */
  readonly cutOff: Publisher;
  /** Takes messages from the topic for good, as soon as there are any. */
  take(topic: Topic, signal: AbortSignal): Promise<readonly TakenMessage[]>;
  close(): Promise<void>;
}

export interface TakenMessage {
  readonly messageId: string;
  /** JSON, as it was encoded. */
  readonly data: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** What every publisher promises, and what its messages look like on the other side. */
export function publisherContract(
  name: string,
  newFixture: () => Promise<PublisherFixture>,
  { skip = false }: { readonly skip?: string | false } = {},
): void {
  describe(`Publisher contract: ${name}`, { skip, timeout: 60_000 }, () => {
    let fixture: PublisherFixture;
    before(async () => {
      fixture = await newFixture();
    });
    after(() => fixture.close());

    it('delivers an accepted message under the id that it returned', async () => {
      const sent = doorbell('web');
      const id = await fixture.publisher.publish('changes', sent);
      const [message, ...others] = await takeAll(fixture, 'changes', 1);
      assert.deepEqual(others, []);
      assert.equal(message?.messageId, id);
      assert.deepEqual(decode(message.data), sent);
      assert.deepEqual(message.attributes, {
        'driftless-version': '1',
        cluster: 'local',
        controller: 'webapp',
        kind: 'WebApp.apps.driftless.dev',
      });
    });

    it('R24: keeps background messages out of the changes', async () => {
      await fixture.publisher.publish('background', doorbell('old'));
      await fixture.publisher.publish('changes', doorbell('new'));
      assert.deepEqual(await takeNames(fixture, 'changes', 1), ['new']);
      assert.deepEqual(await takeNames(fixture, 'background', 1), ['old']);
    });

    it('P69: delivers both of two equal messages that are published at once', async () => {
      const ids = await Promise.all([
        fixture.publisher.publish('changes', doorbell('twin')),
        fixture.publisher.publish('changes', doorbell('twin')),
      ]);
      assert.notEqual(ids[0], ids[1]);
      assert.deepEqual(await takeNames(fixture, 'changes', 2), ['twin', 'twin']);
    });

    it('R20: loses none of 1,000 messages published at once', async () => {
      const names = Array.from({ length: 1_000 }, (_, i) => `web-${String(i).padStart(3, '0')}`);
      const ids = await Promise.all(names.map((each) => fixture.publisher.publish('changes', doorbell(each))));
      assert.equal(new Set(ids).size, 1_000);
      assert.deepEqual(new Set(await takeNames(fixture, 'changes', 1_000)), new Set(names));
    });

    it('P60: says in bounded time that the broker is away, and so for every message', { timeout: 15_000 }, async () => {
      const attempts = ['a', 'b', 'c'].map((each) => fixture.cutOff.publish('changes', doorbell(each)));
      for (const { reason } of rejected(await Promise.allSettled(attempts))) {
        assert.ok(reason instanceof TransientError, String(reason));
      }
    });
  });
}

function doorbell(name: string): Doorbell {
  return doorbellOf({ key: itemKey({ name }), trigger: `MODIFIED WebApp default/${name}` });
}

async function takeAll(fixture: PublisherFixture, topic: Topic, count: number): Promise<readonly TakenMessage[]> {
  const deadline = AbortSignal.timeout(20_000);
  const taken = new Map<string, TakenMessage>();
  while (taken.size < count) {
    for (const message of await fixture.take(topic, deadline)) taken.set(message.messageId, message);
  }
  return [...taken.values()];
}

async function takeNames(fixture: PublisherFixture, topic: Topic, count: number): Promise<string[]> {
  return (await takeAll(fixture, topic, count)).map(({ data }) => decode(data).key.name);
}

function rejected(results: readonly PromiseSettledResult<string>[]): readonly PromiseRejectedResult[] {
  const failures = results.filter((result) => result.status === 'rejected');
  assert.equal(failures.length, results.length, 'a broker that is away accepted a message');
  return failures;
}
