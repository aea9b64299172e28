import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MemoryCluster } from '../../shared/adapters/memory/cluster.ts';
import { MemoryWorkStore } from '../../shared/adapters/memory/work-store.ts';
import { ConfigMap } from '../../shared/kube/builtin.ts';
import type { Stored } from '../../shared/kube/object.ts';
import type { DueAlarm, Page, ReadItem, Revision, Swap, WorkStore } from '../../shared/ports/work-store.ts';
import type { ItemKey, WorkItem } from '../../shared/queue/work-item.ts';
import { type Controller, plan } from '../../shared/reconcile/controller.ts';
import { sweep } from '../../shared/reconcile/sweep.ts';
import { drive } from '../support/drive.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { memoryWorld, type World } from '../support/memory-runtime.ts';
import { configMap, Widget, type WidgetObject, widgetController } from '../support/objects.ts';

const KEY = { namespace: 'default', name: 'w' };
const signal = new AbortController().signal;

class ProcessDied extends Error {}

/** Kills the process at its n-th contact with the world: that call and all later ones have no effect for it. */
class Death {
  contacts = 0;
  readonly #at: number;

  constructor(at: number) {
    this.#at = at;
  }

  readonly touch = (): void => {
    this.contacts += 1;
    if (this.contacts >= this.#at) throw new ProcessDied();
  };
}

/** A store whose caller may die before a call, or after it and before it learns of the outcome. */
class MortalStore implements WorkStore {
  readonly #inner: WorkStore;
  readonly #death: Death;

  constructor(inner: WorkStore, death: Death) {
    this.#inner = inner;
    this.#death = death;
  }

  read(key: ItemKey, s: AbortSignal): Promise<ReadItem> {
    return this.#mortal(() => this.#inner.read(key, s));
  }
  write(item: WorkItem, expected: Revision | undefined, s: AbortSignal): Promise<Swap> {
    return this.#mortal(() => this.#inner.write(item, expected, s));
  }
  remove(key: ItemKey, expected: Revision, s: AbortSignal): Promise<Swap['kind']> {
    return this.#mortal(() => this.#inner.remove(key, expected, s));
  }
  due(limit: number, s: AbortSignal): Promise<readonly DueAlarm[]> {
    return this.#mortal(() => this.#inner.due(limit, s));
  }
  list(cluster: string, page: Page, s: AbortSignal): Promise<readonly WorkItem[]> {
    return this.#mortal(() => this.#inner.list(cluster, page, s));
  }

  async #mortal<T>(call: () => Promise<T>): Promise<T> {
    this.#death.touch();
    const result = await call();
    this.#death.touch();
    return result;
  }
}

/** Makes a and b, then, when the size is 2, changes a, adds c and drops b. */
const controller: Controller = widgetController(({ object, children }) => {
  const names = object.spec.size === 1 ? ['a', 'b'] : ['a', 'c'];
  return plan({
    children: names.map((name) => configMap(name, { size: String(object.spec.size) })),
    status: { made: names.filter((name) => children.get(ConfigMap, name) !== undefined).length },
    conditions: [{ type: 'Ready', status: 'True', reason: 'Made', message: `size ${object.spec.size}` }],
  });
});

function setSize(cluster: MemoryCluster, size: number): void {
  const objects = cluster.objects();
  if (objects.length === 0) {
    const widget: WidgetObject = {
      apiVersion: 'test.driftless.dev/v1',
      kind: 'Widget',
      metadata: { ...KEY },
      spec: { size },
    };
    cluster.create(Widget, widget);
    return;
  }
  cluster.edit(Widget, KEY, 'kubectl-edit', (o) => ({ ...o, spec: { size } }));
}

/** What must be the same whatever happened on the way: all but when a condition came about. */
function endState(cluster: MemoryCluster): unknown {
  const show = ({ kind, metadata, data, status }: Stored) => ({ kind, name: metadata.name, data, status });
  const objects = cluster
    .objects()
    .map(show)
    .sort((x, y) => x.name.localeCompare(y.name));
  return JSON.parse(JSON.stringify(objects, (key, value) => (key === 'lastTransitionTime' ? undefined : value)));
}

/** The children that the item knows to exist; a name that may return is remembered only where somebody died. */
function existing(item: WorkItem | undefined): string[] {
  return item?.children.flatMap(({ name, uid }) => (uid === null ? [] : [name])) ?? [];
}

async function settle(world: World): Promise<void> {
  // The redelivery of the message and the alarm: whichever comes first, and then the other.
  await drive(world.clock, world.ring({}, 'message')).catch(() => undefined);
  world.clock.advance(10_000);
  for (let round = 0; round < 5; round++) {
    await drive(world.clock, sweep(world.runtime, signal));
    for (const { doorbell } of world.bell.rung.splice(0)) await drive(world.clock, world.ring(doorbell));
  }
}

/** Two changes, each delivered once; the first process dies at its n-th contact. @returns the contacts it had */
async function live(
  dieAt: number,
  strict = false,
): Promise<{ readonly state: unknown; readonly contacts: number; readonly item: unknown }> {
  const cluster = new MemoryCluster({ strict });
  const clock = new FakeClock();
  const store = new MemoryWorkStore({ clock });
  const death = new Death(dieAt);

  setSize(cluster, 1);
  const before = memoryWorld(controller, { cluster, clock, store: new MortalStore(store, death) });
  cluster.intercept = death.touch;
  await drive(clock, before.ring({}, 'message')).catch(() => undefined);
  cluster.intercept = undefined;
  setSize(cluster, 2);
  cluster.intercept = death.touch;
  await drive(clock, before.ring({}, 'message-2')).catch(() => undefined);
  cluster.intercept = undefined;

  const after = memoryWorld(controller, { cluster, clock, store });
  await settle(after);
  const { item } = await store.read(after.key, signal);
  return {
    state: endState(cluster),
    contacts: death.contacts,
    item: { lease: item?.lease, alarm: item?.alarm, children: existing(item).sort(), unfenced: item?.unfenced },
  };
}

describe('a crash after any line', () => {
  for (const strict of [false, true]) {
    it(`I4: ends in the same state, wherever the process dies${strict ? ', in strict mode' : ''}`, async () => {
      const { state, contacts, item } = await live(Number.POSITIVE_INFINITY, strict);
      assert.deepEqual(
        (state as { name: string }[]).map(({ name }) => name),
        ['a', 'c', 'w'],
      );
      assert.deepEqual(item, { lease: null, alarm: null, children: ['a', 'c'], unfenced: [] });
      assert.ok(contacts > 30, `only ${contacts} contacts: the test does not see the calls`);
      for (let n = 1; n <= contacts; n++) {
        const other = await live(n, strict);
        assert.deepEqual(other.state, state, `the process died at contact ${n}`);
        assert.deepEqual(other.item, item, `the process died at contact ${n}`);
      }
    });
  }
});
