import type { PubSub } from '@google-cloud/pubsub';

export interface PubSubConnection {
  readonly projectId: string;
  /** `127.0.0.1:8085`. Absent: the real service. */
  readonly emulatorHost?: string;
}

/**
 * A client of the real service, or of an emulator that was named.
 *
 * The library is loaded only here: it costs 300 ms and 40 MB, which a process that never publishes should not pay.
 */
export async function connectPubSub({ projectId, emulatorHost }: PubSubConnection): Promise<PubSub> {
  const { PubSub } = await import('@google-cloud/pubsub');
  return new PubSub({
    projectId,
    ...(emulatorHost === undefined ? {} : { apiEndpoint: emulatorHost, emulatorMode: true }),
  });
}
