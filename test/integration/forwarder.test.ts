import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { TransientError } from '../../shared/errors.ts';
import { Deployment } from '../../shared/kube/builtin.ts';
import type { ObjectMeta } from '../../shared/kube/object.ts';
import { WatchExpiredError } from '../../shared/kube/watch-error.ts';
import type { Doorbell } from '../../shared/message/doorbell.ts';
import type { Publisher, Topic } from '../../shared/ports/broker.ts';
import type { LogFields } from '../../shared/ports/logger.ts';
import { Forwarder } from '../../shared/watch/forwarder.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { apiError, brokenStream, ModelSource, settle } from '../support/model-source.ts';
import { Widget } from '../support/objects.ts';

interface Sent {
  readonly topic: Topic;
  readonly doorbell: Doorbell;
}

/** A broker that keeps what it accepts, and can be away or slow. */
class ModelBroker implements Publisher {
  readonly accepted: Sent[] = [];
  state: 'well' | 'away' | 'hanging' = 'well';
  readonly #hanging: (() => void)[] = [];

  async publish(topic: Topic, doorbell: Doorbell): Promise<string> {
    if (this.state === 'away') throw new TransientError('BROKER_UNAVAILABLE', 'cannot publish');
    if (this.state === 'hanging') await new Promise<void>((resolve) => this.#hanging.push(resolve));
    this.accepted.push({ topic, doorbell });
    return `message-${this.accepted.length}`;
  }

  /** Answers everything that hangs. */
  release(): void {
    this.state = 'well';
    for (const resolve of this.#hanging.splice(0)) resolve();
  }

  async close(): Promise<void> {}

  /** `changes MODIFIED Widget default/a: uid-a@7` */
  get texts(): readonly string[] {
    return this.accepted.map(({ topic, doorbell: { trigger, news } }) => {
      const versions = 'versions' in news ? news.versions.map((v) => `${v.uid}@${v.resourceVersion}`).join(' ') : '';
      return `${topic} ${trigger}: ${news.kind} ${versions}`.trimEnd();
    });
  }
}

/** The whole forwarder over a model cluster and a model broker; Widgets own Deployments. */
class Bench {
  readonly source = new ModelSource();
  readonly broker = new ModelBroker();
  readonly clock = new FakeClock();
  readonly logged: { readonly message: string; readonly fields: LogFields }[] = [];
  readonly forwarder: Forwarder;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  ended = false;

  constructor(maxInFlight = 100) {
    const log = (message: string, fields: LogFields = {}) => void this.logged.push({ message, fields });
    this.forwarder = new Forwarder({
      cluster: 'local',
      controllers: [{ name: 'widget', kind: Widget, owns: [Deployment] }],
      source: this.source,
      publisher: this.broker,
      clock: this.clock,
      random: { fraction: () => 0, id: () => 'id' },
      logger: { debug: log, info: log, warn: log, error: log },
      maxInFlight,
    });
  }

  async start(): Promise<this> {
    this.#running = this.forwarder.run(this.#stop.signal).then(() => {
      this.ended = true;
    });
    await settle();
    return this;
  }

  /** Starts over an empty cluster and forgets what was rung until then. */
  async startQuietly(): Promise<this> {
    await this.start();
    await this.pass(100);
    this.broker.accepted.length = 0;
    return this;
  }

  async pass(ms: number): Promise<void> {
    const step = Math.max(25, ms / 40);
    for (let passed = 0; passed < ms; passed += step) {
      this.clock.advance(Math.min(step, ms - passed));
      await settle();
    }
  }

  putChild(name: string, owner: string, more: Partial<ObjectMeta> = {}) {
    const reference = { apiVersion: 'test.driftless.dev/v1', kind: 'Widget', name: owner, uid: `uid-${owner}` };
    return this.source.put(Deployment, { name, ownerReferences: [{ ...reference, controller: true }], ...more });
  }

  abort(): void {
    this.#stop.abort();
  }

  async stop(): Promise<void> {
    this.abort();
    await this.#running;
  }
}

describe('forwarder: what it rings', () => {
  it('when it is told to, a census of every object again, with the names of its children', async () => {
    const bench = new Bench();
    bench.source.put(Widget, { name: 'a' });
    bench.putChild('d', 'a');
    await bench.startQuietly();
    bench.forwarder.ringAll();
    await bench.pass(100);
    assert.deepEqual(bench.broker.texts, ['background LISTED Widget default/a: census uid-a@101 uid-d@102']);
    const [sent] = bench.broker.accepted;
    assert(sent?.doorbell.news.kind === 'census');
    assert.deepEqual(
      sent.doorbell.news.versions.map(({ child }) => child?.name),
      [undefined, 'd'],
    );
    await bench.stop();
  });

  it('nothing when it is told to before it knows what there is: that rings anyway', async () => {
    const bench = new Bench();
    bench.source.put(Widget, { name: 'a' });
    bench.forwarder.ringAll();
    await bench.start();
    await bench.pass(100);
    assert.deepEqual(bench.broker.texts, ['background LISTED Widget default/a: census uid-a@101']);
    await bench.stop();
  });

  it('at its start, a census of every object in the background, once every kind is known', async () => {
    const bench = new Bench();
    bench.source.put(Widget, { name: 'a' });
    bench.putChild('d', 'a');
    bench.source.put(Widget, { name: 'b' });
    await bench.start();
    assert.deepEqual(bench.broker.texts, [
      'background LISTED Widget default/a: census uid-a@101 uid-d@102',
      'background LISTED Widget default/b: census uid-b@103',
    ]);
    await bench.forwarder.synced;
    await bench.stop();
  });

  it('R20: changes of objects and their children as they happen, each logged with its message', async () => {
    const bench = await new Bench().startQuietly();
    bench.source.put(Widget, { name: 'a', generation: 1 });
    await settle();
    await bench.pass(50);
    bench.putChild('d', 'a');
    await settle();
    assert.deepEqual(bench.broker.texts, [
      'changes ADDED Widget default/a: versions uid-a@101',
      'changes ADDED Deployment default/d: versions uid-d@102',
    ]);
    assert.deepEqual(bench.logged.filter(({ message }) => message === 'doorbell published').at(-1)?.fields, {
      cluster: 'local',
      controller: 'widget',
      namespace: 'default',
      name: 'a',
      trigger: 'ADDED Deployment default/d',
      topic: 'changes',
      messageId: 'message-2',
      news: 'versions',
      lagMs: 0,
    });
    await bench.stop();
  });

  it('R12 P81: a hundred flapping children of one object ring for it once at once, and once when the window closes', async () => {
    const bench = await new Bench().startQuietly();
    bench.source.put(Widget, { name: 'a' });
    await bench.pass(50);
    bench.broker.accepted.length = 0;
    for (let i = 0; i < 100; i += 1) bench.putChild(`d${i % 3}`, 'a');
    await settle();
    await bench.pass(100);
    assert.deepEqual(bench.broker.texts, [
      'changes ADDED Deployment default/d0: versions uid-d0@102',
      'changes MODIFIED Deployment default/d0: versions uid-d1@199 uid-d2@200 uid-d0@201',
    ]);
    await bench.stop();
  });

  it('P09 P22: after a gap that the server no longer knows, exactly what changed, and nothing for what did not', async () => {
    const bench = new Bench();
    for (const name of ['a', 'b', 'c', 'd', 'same']) bench.source.put(Widget, { name, generation: 1 });
    bench.putChild('child', 'same');
    await bench.startQuietly();

    for (const kind of [Widget, Deployment]) bench.source.breakStream(kind, brokenStream());
    await settle();
    for (const name of ['a', 'b', 'c', 'new']) bench.source.put(Widget, { name, generation: 2 });
    bench.source.remove(Widget, 'uid-d');
    bench.source.forgetHistory();
    await bench.pass(5_000);
    assert.deepEqual(bench.broker.texts.toSorted(), [
      'changes ADDED Widget default/new: versions uid-new@110',
      'changes DELETED Widget default/d: unknown',
      'changes MODIFIED Widget default/a: versions uid-a@107',
      'changes MODIFIED Widget default/b: versions uid-b@108',
      'changes MODIFIED Widget default/c: versions uid-c@109',
    ]);

    bench.broker.accepted.length = 0;
    bench.source.breakStream(Deployment, new WatchExpiredError('too old'));
    bench.source.remove(Deployment, 'uid-child');
    await bench.pass(5_000);
    assert.deepEqual(bench.broker.texts, ['changes DELETED Deployment default/child: census uid-same@105']);
    await bench.stop();
  });
});

describe('forwarder: when something is broken', () => {
  it('R21: a kind that cannot be listed holds up no other one, and what it missed is told when it can', async () => {
    const bench = new Bench();
    bench.source.put(Widget, { name: 'a' });
    bench.putChild('d', 'a');
    bench.source.fail(Deployment, apiError(403, 'Forbidden'));
    await bench.start();
    assert.deepEqual(bench.broker.texts, ['background LISTED Widget default/a: versions uid-a@101']);

    bench.source.put(Widget, { name: 'b' });
    await bench.pass(60_000);
    assert.equal(bench.broker.texts.at(-1), 'changes ADDED Widget default/b: versions uid-b@103');
    const kinds = Object.entries(bench.forwarder.stats().kinds);
    assert.deepEqual(
      kinds.map(([kind, { synced, lastError }]) => [kind, synced, lastError]),
      [
        ['Widget.test.driftless.dev', true, undefined],
        ['Deployment.apps', false, 'cannot watch: 403 Forbidden Forbidden'],
      ],
    );

    bench.source.recover(Deployment);
    await bench.pass(40_000);
    await bench.forwarder.synced;
    assert.deepEqual(bench.broker.texts.slice(2), [
      'background LISTED Widget default/a: census uid-a@101 uid-d@102',
      'background LISTED Widget default/b: census uid-b@103',
    ]);
    await bench.stop();
  });

  it('P60: a broker that is away for a minute loses nothing, and is told about once', async () => {
    const bench = await new Bench().startQuietly();
    bench.broker.state = 'away';
    for (let i = 0; i < 50; i += 1) {
      for (const name of ['a', 'b', 'c']) bench.source.put(Widget, { name, generation: i });
      if (i === 30) bench.source.remove(Widget, 'uid-c');
      await bench.pass(1_200);
      assert(bench.forwarder.stats().doorbells.objects <= 3);
    }
    bench.source.remove(Widget, 'uid-c');
    await settle();
    assert.equal(bench.broker.accepted.length, 0);
    assert.equal(bench.logged.filter(({ message }) => message === 'broker does not take doorbells').length, 1);

    bench.broker.state = 'well';
    await bench.pass(31_000);
    const last = new Map(bench.broker.accepted.map(({ doorbell }) => [doorbell.key.name, doorbell.news]));
    const { resourceVersion = '' } = bench.source.objects(Widget).find(({ name }) => name === 'a') ?? {};
    assert.deepEqual(last.get('a'), { kind: 'versions', versions: [{ uid: 'uid-a', resourceVersion }] });
    assert.deepEqual(last.get('c'), { kind: 'versions', versions: [{ uid: 'uid-c', resourceVersion: '252' }] });
    assert.deepEqual(bench.forwarder.stats().doorbells.inFlight, 0);
    await bench.stop();
  });

  it('P49: a slow broker bounds what is under way, and memory to the number of objects', async () => {
    const bench = await new Bench(4).startQuietly();
    bench.broker.state = 'hanging';
    for (let i = 0; i < 5_000; i += 1) bench.source.put(Widget, { name: `w${i % 20}`, generation: i });
    await settle();
    await bench.pass(1_000);
    const { inFlight, objects } = bench.forwarder.stats().doorbells;
    assert.deepEqual([inFlight, objects], [4, 20]);

    bench.broker.release();
    await bench.pass(200);
    const last = new Map(bench.broker.accepted.map(({ doorbell }) => [doorbell.uid, doorbell.generation]));
    assert.deepEqual([...last.values()].toSorted((a, b) => (a ?? 0) - (b ?? 0)).slice(0, 2), [4_980, 4_981]);
    assert.equal(last.size, 20);
    await bench.stop();
  });

  it('R24: a backlog in the background does not hold up a change', async () => {
    const bench = new Bench(2);
    for (let i = 0; i < 50; i += 1) bench.source.put(Widget, { name: `w${i}`, generation: 1 });
    bench.broker.state = 'hanging';
    await bench.start();
    bench.broker.state = 'well';
    bench.source.put(Widget, { name: 'w49', generation: 2 });
    await settle();
    assert.deepEqual(bench.broker.texts, ['changes MODIFIED Widget default/w49: census uid-w49@151']);
    bench.broker.release();
    await bench.stop();
  });
});

describe('forwarder: its end', () => {
  it('sends what still waits, whatever its window or backoff', async () => {
    const bench = await new Bench().startQuietly();
    bench.source.put(Widget, { name: 'a', generation: 1 });
    await settle();
    bench.source.put(Widget, { name: 'a', generation: 2 });
    await settle();
    assert.equal(bench.broker.accepted.length, 1);
    await bench.stop();
    assert.deepEqual(bench.broker.texts.slice(1), ['changes MODIFIED Widget default/a: versions uid-a@102']);
    assert.equal(bench.source.openStreams, 0);
  });

  it('takes two seconds at most, and says what was left', async () => {
    const bench = await new Bench().startQuietly();
    bench.broker.state = 'hanging';
    bench.source.put(Widget, { name: 'a' });
    await settle();
    bench.abort();
    await settle();
    assert.equal(bench.ended, false);
    await bench.pass(2_000);
    assert.equal(bench.ended, true);
    assert.deepEqual(bench.logged.at(-1), { message: 'doorbells left unsent', fields: { unsent: 1 } });
  });

  it('does not hammer a broker that is away', async () => {
    const bench = await new Bench().startQuietly();
    bench.broker.state = 'away';
    bench.source.put(Widget, { name: 'a' });
    await settle();
    await bench.stop();
    assert.equal(bench.forwarder.stats().doorbells.failures, 2);
    assert.deepEqual(bench.logged.at(-1), { message: 'doorbells left unsent', fields: { unsent: 1 } });
  });
});

describe('forwarder: properties', () => {
  const action = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constantFrom('put', 'putChild', 'remove', 'removeChild'), object: fc.nat(2) }),
    },
    {
      weight: 4,
      arbitrary: fc.record({
        do: fc.constantFrom('breakWidgets', 'breakChildren', 'expire', 'forget', 'away', 'well', 'settle'),
        object: fc.constant(0),
      }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('wait'), object: fc.nat(20_000) }) },
  );

  it('R20: whatever breaks, the last state of every object and child has been rung when all is well again', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 30, size: 'max' }), async (actions) => {
        const bench = await new Bench().start();
        const { source, broker } = bench;
        let generation = 0;
        for (const step of actions) {
          const name = `w${step.object}`;
          generation += 1;
          switch (step.do) {
            case 'put':
              source.put(Widget, { name, uid: `uid-${name}`, generation });
              break;
            case 'putChild':
              if (source.objects(Widget).some((widget) => widget.name === name))
                bench.putChild(`d${step.object}`, name);
              break;
            case 'remove':
              source.remove(Widget, `uid-${name}`);
              break;
            case 'removeChild':
              source.remove(Deployment, `uid-d${step.object}`);
              break;
            case 'breakWidgets':
              source.breakStream(Widget, brokenStream());
              break;
            case 'breakChildren':
              source.breakStream(Deployment, brokenStream());
              break;
            case 'expire':
              source.breakStream(Widget, new WatchExpiredError('too old'));
              break;
            case 'forget':
              source.forgetHistory();
              break;
            case 'away':
              broker.state = 'away';
              break;
            case 'well':
              broker.state = 'well';
              break;
            case 'settle':
              await settle();
              break;
            default:
              await bench.pass(step.object);
          }
        }
        broker.state = 'well';
        await bench.pass(100_000);
        await bench.stop();

        // Whoever reads the doorbells knows of each widget the newest versions, or was told to look anyway.
        const told = (name: string, uid: string, resourceVersion: string) =>
          broker.accepted.some(
            ({ doorbell: { key, news } }) =>
              key.name === name &&
              (news.kind === 'unknown' ||
                ('versions' in news &&
                  news.versions.some((v) => v.uid === uid && v.resourceVersion === resourceVersion))),
          );
        for (const widget of source.objects(Widget))
          assert(told(widget.name, widget.uid, widget.resourceVersion), `${widget.name} was not rung`);
        for (const name of ['w0', 'w1', 'w2']) {
          const last = broker.accepted.findLast(({ doorbell }) => doorbell.key.name === name)?.doorbell.trigger;
          if (last === undefined || source.objects(Widget).some((widget) => widget.name === name)) continue;
          assert.equal(last, `DELETED Widget default/${name}`);
        }
        for (const child of source.objects(Deployment)) {
          const owner = child.ownerReferences?.[0]?.name ?? '';
          const lives = source.objects(Widget).some(({ name }) => name === owner);
          if (lives) assert(told(owner, child.uid, child.resourceVersion), `${child.name} was not rung`);
        }
      }),
      { numRuns: 40 },
    );
  });
});
