import { setTimeout as sleep } from 'node:timers/promises';
import { type Emulator, findEmulators } from '../../../infra/local/emulators/find.ts';
import type { Part } from '../../../infra/local/part.ts';
import { freePorts } from '../../../infra/local/ports.ts';
import { Supervisor } from '../../../infra/local/supervisor/supervisor.ts';
import { createGuard } from '../../../shared/adapters/cockatiel/guard.ts';
import { openFirestoreWorkStore } from '../../../shared/adapters/firestore/work-store.ts';
import { SystemRandom } from '../../../shared/adapters/system/random.ts';
import { messageOf } from '../../../shared/errors.ts';
import type { WorkItem } from '../../../shared/queue/work-item.ts';
import { Door } from '../../support/door.ts';
import { until } from '../../support/until.ts';
import type { Claim } from '../claim.ts';
import { type Proving, SharedStack } from '../shared-stack.ts';
import { OutageWorld } from './outage-world.ts';

const AWAY_MS = 30_000;
const RIGHT_WITHIN_MS = 120_000;

/** How the store goes and comes back. */
interface Outage {
  readonly id: string;
  readonly what: string;
  readonly go: (stage: Stage) => void | Promise<void>;
  /** After the door was shut or frozen, when nothing can change any more. */
  readonly meanwhile: (stage: Stage) => Promise<void>;
  readonly come: (stage: Stage) => void | Promise<void>;
}

const OUTAGES: readonly Outage[] = [
  {
    id: 'refused',
    what: 'refuses connections, and keeps its data',
    go: ({ door }) => door.shut(),
    meanwhile: async () => undefined,
    come: ({ door }) => door.reopen(),
  },
  {
    id: 'frozen',
    what: 'takes connections and never answers, and keeps its data',
    go: ({ door }) => door.freeze(),
    meanwhile: async () => undefined,
    come: ({ door }) => door.thaw(),
  },
  {
    id: 'emptied',
    what: 'is killed, and starts empty',
    go: ({ door }) => door.shut(),
    meanwhile: (stage) => stage.kill(),
    async come(stage) {
      await stage.start();
      await stage.door.reopen();
    },
  },
];

export function storeOutageClaim(): { readonly claim: Claim; readonly close: () => Promise<void> } {
  let stage: Stage | undefined;
  return {
    claim: {
      id: 'store-outage',
      text: `The store is away for ${AWAY_MS / 1_000} s under load, hangs, or comes back empty: nothing is lost, and nobody lends a hand`,
      floor: 'every object right, no orphan, every work item idle, nothing dead-lettered, no process ended',
      async run({ say }) {
        stage = await Stage.set();
        const proving = await stage.stack.get(say);
        const told: string[] = [];
        for (const outage of OUTAGES) told.push(await endure(outage, stage, proving, say));
        const { lines, events } = proving;
        const restarts = events.filter(({ kind }) => kind === 'restarting');
        const deadLetters = lines.filter(({ line }) => line.includes('message dead-lettered')).length;
        const ok = deadLetters === 0 && restarts.length === 0;
        return { measured: `${told.join('; ')}; ${deadLetters} dead-lettered, ${restarts.length} processes ended`, ok };
      },
    },
    close: async () => await stage?.close(),
  };
}

/** One outage; resolves when all is right again. @returns what was measured */
async function endure(outage: Outage, stage: Stage, proving: Proving, say: (text: string) => void): Promise<string> {
  const world = new OutageWorld(proving, outage.id);
  await world.prepare();
  const stop = new AbortController();
  const load = world.load(stop.signal);
  const caught = await barWhileBusy(outage, stage);
  const wentAt = performance.now();
  say(`the store ${outage.what}: ${caught}`);
  const from = proving.lines.length;
  await outage.meanwhile(stage);
  await sleep(1_000);
  stop.abort();
  await load;
  await world.harm();
  await sleep(AWAY_MS - (performance.now() - wentAt));
  await outage.come(stage);
  const cameAt = performance.now();
  const before = proving.lines.length;
  const found = until('a run ends', async () => proving.lines.slice(before).some(isEndOfRun), {
    withinMs: RIGHT_WITHIN_MS,
  });
  let wrong: readonly string[] = [];
  await until(
    `all is right: ${outage.id}`,
    async () => {
      const now = await world.wrong(await stage.items());
      if (now.length > 0) wrong = now;
      return now.length === 0;
    },
    { withinMs: RIGHT_WITHIN_MS, everyMs: 250 },
  ).catch((error: unknown) => {
    const last = `${wrong.slice(0, 5).join(', ')} (${wrong.length})`;
    throw new Error(`${messageOf(error)}; wrong at last: ${last}`, { cause: error });
  });
  const seconds = ((performance.now() - cameAt) / 1_000).toFixed(1);
  const foundMs = Math.round(await found);
  const refused = proving.lines.slice(from).filter(({ line }) => line.includes('delivery failed')).length;
  const told = `${outage.id}: ${world.size} objects right ${seconds} s after its return, the first run after ${foundMs} ms (${caught}; ${refused} deliveries refused)`;
  say(`${told}; at last: ${wrong.slice(0, 3).join(', ')}`);
  return told;
}

function isEndOfRun({ line }: { readonly line: string }): boolean {
  return line.includes('run finished');
}

/** Bars the door at a moment at which a run is under way, an item is dirty, and one waits for its backoff. */
async function barWhileBusy(outage: Outage, stage: Stage): Promise<string> {
  const busy = (items: readonly WorkItem[]) => {
    const held = items.filter(({ lease }) => lease !== null).length;
    const dirty = items.filter((item) => item.dirty.kind !== 'clean').length;
    const asleep = items.filter(({ alarm }) => alarm?.reason === 'backoff').length;
    return { held, dirty, asleep, all: held > 0 && dirty > 0 && asleep > 0 };
  };
  for (let attempt = 0; attempt < 20; attempt += 1) {
    await until('work is under way', async () => busy(await stage.items()).all, { everyMs: 1 });
    await outage.go(stage);
    const { held, dirty, asleep, all } = busy(await stage.items());
    if (all) return `${held} runs under way, ${dirty} items dirty, ${asleep} backing off`;
    await (outage.id === 'frozen' ? stage.door.thaw() : stage.door.reopen());
  }
  throw new Error('the store could not be caught with a run under way');
}

/** A Firestore emulator behind a door, and a stack that knows the door only. */
class Stage {
  readonly door: Door;
  readonly stack: SharedStack;
  readonly #part: Part;
  readonly #store;
  #supervisor = new Supervisor();

  private constructor(door: Door, { host, part }: Extract<Emulator, { kind: 'sdk' }>) {
    this.door = door;
    this.#part = part;
    this.stack = new SharedStack({ environment: { FIRESTORE_EMULATOR_HOST: door.host } });
    // Straight to the emulator: this process sees what is stored also while the door is shut.
    Object.assign(process.env, { FIRESTORE_EMULATOR_HOST: host, METADATA_SERVER_DETECTION: 'none' });
    const guard = createGuard({ name: 'Firestore', timeoutMs: 10_000, retry: { maxAttempts: 5, maxDelayMs: 500 } });
    this.#store = openFirestoreWorkStore({
      projectId: 'demo-driftless',
      clusters: [],
      guard,
      random: new SystemRandom(),
    });
  }

  static async set(): Promise<Stage> {
    const [pubsub = 0, firestore = 0] = await freePorts(2);
    const environment = { ...process.env, FIRESTORE_EMULATOR_HOST: undefined };
    const { firestore: emulator } = await findEmulators(environment, { pubsub, firestore });
    if (emulator.kind !== 'sdk') throw new Error('the Firestore emulator of the Cloud SDK is needed');
    const stage = new Stage(await Door.open(firestore), emulator);
    await stage.start();
    return stage;
  }

  async start(): Promise<void> {
    this.#supervisor = new Supervisor();
    await this.#supervisor.start(this.#part);
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    await this.#supervisor.stopNow();
  }

  items(): Promise<readonly WorkItem[]> {
    return this.#store.list('local', { limit: 1_000 }, new AbortController().signal);
  }

  async close(): Promise<void> {
    await this.stack.close();
    await this.kill();
    await this.#store.close();
  }
}
