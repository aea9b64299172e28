import type {
  BulkWriter,
  DocumentData,
  DocumentReference,
  DocumentSnapshot,
  Firestore,
  Timestamp,
  WriteResult,
} from '@google-cloud/firestore';

/** Documents that one RPC reads. */
const MAX_READS = 100;

/** How long writes that nobody waits for any more may keep the connection open. Milliseconds. */
const CLOSE_MS = 1_000;

interface Read {
  readonly document: DocumentReference;
  readonly resolve: (snapshot: DocumentSnapshot) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Sends together what is asked for within one turn of the event loop: one RPC reads up to a hundred documents, another
 * writes up to twenty. Under load that takes a third of the processor time of an RPC each, here and on the emulator.
 *
 * Nothing else is shared (BatchWrite is not a transaction): each write has its own precondition, and succeeds or fails
 * alone. Writes of one document never share an RPC. A request that the server cannot take as a whole fails for all that
 * are in it; whoever guards the call tries again, in other company.
 */
export class Batches {
  readonly #db: Firestore;
  readonly #bulk: BulkWriter;
  #reads: Read[] = [];
  #isDue: boolean = false;

  constructor(db: Firestore) {
    this.#db = db;
    this.#bulk = db.bulkWriter({ throttling: false });
    this.#bulk.onWriteError(() => false); // Whoever guards the call decides about another attempt.
  }

  read(document: DocumentReference): Promise<DocumentSnapshot> {
    const { promise, resolve, reject } = Promise.withResolvers<DocumentSnapshot>();
    this.#reads.push({ document, resolve, reject });
    return this.#soon(promise);
  }

  create(document: DocumentReference, data: DocumentData): Promise<WriteResult> {
    return this.#soon(this.#bulk.create(document, data));
  }

  update(document: DocumentReference, data: DocumentData, lastUpdateTime: Timestamp): Promise<WriteResult> {
    return this.#soon(this.#bulk.update(document, data, { lastUpdateTime }));
  }

  delete(document: DocumentReference, lastUpdateTime: Timestamp): Promise<WriteResult> {
    return this.#soon(this.#bulk.delete(document, { lastUpdateTime }));
  }

  /** Waits for what is under way, for a second at most: who cares has waited before. */
  async close(): Promise<void> {
    const waited = Promise.withResolvers<void>();
    const timer = setTimeout(waited.resolve, CLOSE_MS);
    await Promise.race([this.#bulk.close(), waited.promise]);
    clearTimeout(timer);
  }

  #soon<T>(result: Promise<T>): Promise<T> {
    if (!this.#isDue) {
      this.#isDue = true;
      setImmediate(() => this.#send());
    }
    return result;
  }

  #send(): void {
    this.#isDue = false;
    void this.#bulk.flush();
    const reads = this.#reads;
    this.#reads = [];
    for (let first = 0; first < reads.length; first += MAX_READS) {
      void this.#readAll(reads.slice(first, first + MAX_READS));
    }
  }

  async #readAll(reads: readonly Read[]): Promise<void> {
    try {
      const snapshots = await this.#db.getAll(...reads.map(({ document }) => document));
      for (const [i, { resolve, reject }] of reads.entries()) {
        const snapshot = snapshots[i];
        if (snapshot === undefined) reject(new Error(`${reads.length} documents were asked for, ${i} were answered`));
        else resolve(snapshot);
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}
