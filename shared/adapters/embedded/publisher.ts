import { encode } from '../../message/codec.ts';
import type { Doorbell } from '../../message/doorbell.ts';
import type { Publisher, Topic } from '../../ports/broker.ts';
import { EmbeddedClient, type EmbeddedClientOptions } from './client.ts';

/** Publishes doorbells to the broker of the embedded server. */
export class EmbeddedPublisher implements Publisher {
  readonly #client: EmbeddedClient;

  constructor(options: EmbeddedClientOptions) {
    this.#client = new EmbeddedClient(options);
  }

  async publish(topic: Topic, doorbell: Doorbell): Promise<string> {
    return await this.#client.call('messages/publish', { queue: topic, message: encode(doorbell) });
  }

  close(): Promise<void> {
    return this.#client.close();
  }
}
