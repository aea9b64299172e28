import { EmbeddedClient } from '../../../shared/adapters/embedded/client.ts';
import type { PublishedMessage } from '../../../shared/message/codec.ts';
import type { Clock } from '../../../shared/ports/clock.ts';
import type { HeldMessage, Source } from './source.ts';

export interface EmbeddedSourceOptions {
  readonly url: string;
  readonly clock: Clock;
}

const BATCH = 100;
/** Below the client's deadline for one call. Milliseconds. */
const WAIT_MS = 2_000;
/** A third of the broker's ack deadline, so that one late extension loses nothing. Milliseconds. */
const EXTEND_EVERY_MS = 1_500;

/** Pulls from the broker of the embedded server. */
export function openEmbeddedSource({ url, clock }: EmbeddedSourceOptions): Source {
  const client = new EmbeddedClient({ url });
  return {
    prepare: async () => undefined,
    pull: (queue, maxHeld, handle, signal) => pull({ client, clock, queue, maxHeld, handle }, signal),
    async send(queue, { data, attributes }) {
      const message = { data: Buffer.from(data, 'base64').toString(), attributes };
      await client.call('messages/publish', { queue, message });
    },
    close: () => client.close(),
  };
}

interface Pull {
  readonly client: EmbeddedClient;
  readonly clock: Clock;
  readonly queue: Parameters<Source['pull']>[0];
  readonly maxHeld: number;
  readonly handle: Parameters<Source['pull']>[2];
}

async function pull({ client, clock, queue, maxHeld, handle }: Pull, signal: AbortSignal): Promise<void> {
  const inHand = new Map<string, Promise<void>>();
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const settled = new AbortController();

  async function settle(message: PublishedMessage): Promise<void> {
    const settlement = await handle(heldMessage(message));
    await client.call(`messages/${settlement}`, { queue, messageIds: [message.messageId] });
  }

  async function take(): Promise<void> {
    while (!stop.aborted) {
      const room = Math.min(BATCH, maxHeld - inHand.size);
      if (room === 0) {
        await Promise.race(inHand.values());
        continue;
      }
      for (const message of await client.call('messages/pull', { queue, max: room, waitMs: WAIT_MS }, stop)) {
        const { messageId } = message;
        const done = settle(message)
          .catch((error: unknown) => failed.abort(error))
          .finally(() => inHand.delete(messageId));
        inHand.set(messageId, done);
      }
    }
  }

  async function extend(): Promise<void> {
    for (;;) {
      await clock.sleep(EXTEND_EVERY_MS, settled.signal);
      if (inHand.size > 0) await client.call('messages/extend', { queue, messageIds: [...inHand.keys()] });
    }
  }

  const extending = extend().catch((error: unknown) => failed.abort(error));
  await take().catch((error: unknown) => failed.abort(error));
  await Promise.all(inHand.values());
  settled.abort();
  await extending;
  if (!signal.aborted) throw failed.signal.reason;
}

function heldMessage({ messageId, data, attributes, publishTime }: PublishedMessage): HeldMessage {
  return {
    messageId,
    data: Buffer.from(data).toString('base64'),
    attributes,
    publishTime: new Date(publishTime).toISOString(),
  };
}
