import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { WatchExpiredError } from '../../../shared/kube/watch-error.ts';
import type { Logger } from '../../../shared/ports/logger.ts';
import { type Change, Inventory } from '../../../shared/watch/inventory.ts';
import { Reflector } from '../../../shared/watch/reflector.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { apiError, brokenStream, ModelSource, settle } from '../../support/model-source.ts';
import { Widget } from '../../support/objects.ts';

const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} };

interface BenchOptions {
  readonly onChange?: (change: Change) => void;
  readonly source?: ModelSource;
  readonly resumeFrom?: string;
}

/** A reflector at work on a model cluster, and what it told. */
class Bench {
  readonly source: ModelSource;
  readonly clock = new FakeClock();
  readonly inventory = new Inventory();
  readonly told: Change[] = [];
  readonly firsts: boolean[] = [];
  failures = 0;
  resumed = 0;
  readonly reflector: Reflector;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  ended = false;

  constructor({ onChange = () => {}, source = new ModelSource(), resumeFrom }: BenchOptions = {}) {
    this.source = source;
    this.reflector = new Reflector({
      kind: Widget,
      resumeFrom,
      inventory: this.inventory,
      source: this.source,
      clock: this.clock,
      random: { fraction: () => 0, id: () => 'id' },
      logger: silent,
      sink: {
        listed: (changes, first) => {
          this.firsts.push(first);
          this.told.push(...changes);
        },
        changed: (change) => {
          onChange(change);
          this.told.push(change);
        },
        resumed: () => {
          this.resumed += 1;
        },
        failed: () => {
          this.failures += 1;
        },
      },
    });
  }

  async start(): Promise<this> {
    this.#running = this.reflector.run(this.#stop.signal).then(() => {
      this.ended = true;
    });
    await settle();
    return this;
  }

  /** Lets `ms` pass in steps, so that whoever waits can act in between. */
  async pass(ms: number): Promise<void> {
    const step = Math.max(100, ms / 40);
    for (let passed = 0; passed < ms; passed += step) {
      this.clock.advance(Math.min(step, ms - passed));
      await settle();
    }
  }

  get asked(): readonly string[] {
    return this.source.asked.map(({ what }) => what);
  }

  get names(): readonly string[] {
    return this.told.map((change) => {
      const { name } = change.kind === 'deleted' ? change.before : change.after;
      return `${change.kind} ${name}`;
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }
}

describe('reflector', () => {
  it('lists by stream, then tells changes as they come, over one stream', async () => {
    const bench = new Bench();
    bench.source.put(Widget, { name: 'a' });
    await bench.start();
    bench.source.put(Widget, { name: 'b' });
    bench.source.put(Widget, { name: 'a' });
    bench.source.remove(Widget, 'uid-b');
    await settle();
    assert.deepEqual(bench.names, ['added a', 'added b', 'modified a', 'deleted b']);
    assert.deepEqual([bench.asked, bench.firsts], [['watch from list'], [true]]);
    await bench.stop();
  });

  it('R20: is resumed from where another one had got to, without a list', async () => {
    const source = new ModelSource();
    source.put(Widget, { name: 'old' });
    const { resourceVersion } = source.put(Widget, { name: 'seen' });
    source.put(Widget, { name: 'missed' });
    source.remove(Widget, 'uid-old');
    const bench = await new Bench({ source, resumeFrom: resourceVersion }).start();
    assert.deepEqual(bench.names, ['added missed', 'deleted old']);
    assert.deepEqual([bench.asked, source.probes, bench.resumed, bench.firsts], [['watch from 102'], 1, 1, []]);
    assert.equal(bench.reflector.resourceVersion, '104');
    await bench.stop();
  });

  it('R20: a version of the future is not resumed: the store was restored, and what it tells now must be listed', async () => {
    const source = new ModelSource();
    source.put(Widget, { name: 'a' });
    const bench = await new Bench({ source, resumeFrom: '150' }).start();
    assert.deepEqual([bench.asked, bench.names, bench.resumed], [['watch from list'], ['added a'], 0]);
    await bench.stop();
  });

  it('R20: lists after a failure that was the restore of a store', async () => {
    const bench = new Bench();
    bench.source.put(Widget, { name: 'a' });
    await bench.start();
    bench.source.put(Widget, { name: 'undone' });
    bench.source.restore('101');
    bench.source.breakStream(Widget, brokenStream());
    await bench.pass(2_000);
    assert.deepEqual(bench.asked, ['watch from list', 'watch from list']);
    await bench.stop();
  });

  it('lists at once when it is asked to, whatever it is doing, over one stream', async () => {
    const bench = await new Bench().start();
    bench.source.put(Widget, { name: 'a' });
    bench.reflector.list();
    bench.reflector.list();
    await settle();
    bench.source.fail(Widget, brokenStream());
    bench.source.breakStream(Widget, brokenStream());
    await settle();
    bench.source.recover(Widget);
    bench.reflector.list();
    await settle();
    assert.deepEqual(bench.asked, ['watch from list', 'watch from list', 'watch from list']);
    assert.deepEqual([bench.names, bench.source.openStreams], [['added a'], 1]);
    await bench.stop();
  });

  it('lists by pages where the server does not list by stream', async () => {
    const bench = new Bench();
    bench.source.listsBy = 'pages';
    bench.source.put(Widget, { name: 'a' });
    await bench.start();
    assert.deepEqual(bench.asked, ['watch from list', 'list', 'watch from 101']);
    assert.deepEqual(bench.names, ['added a']);
    await bench.stop();
  });

  it('P04: streams that end every 5 s over 1,000 unchanged objects tell nothing and list never again', async () => {
    const bench = new Bench();
    for (let i = 0; i < 1_000; i += 1) bench.source.put(Widget, { name: `w${i}` });
    await bench.start();
    for (let i = 0; i < 10; i += 1) {
      await bench.pass(5_000);
      bench.source.breakStream(Widget);
      await settle();
    }
    assert.equal(bench.told.length, 1_000);
    assert.deepEqual(bench.asked, ['watch from list', ...Array.from({ length: 10 }, () => 'watch from 1100')]);
    await bench.stop();
  });

  it('P06a: after a 410 (as status or in the stream) lists once and tells what changed meanwhile', async () => {
    for (const how of ['status', 'stream'] as const) {
      const bench = new Bench();
      for (const name of ['a', 'b', 'c', 'd', 'e']) bench.source.put(Widget, { name });
      await bench.start();
      bench.told.length = 0;
      if (how === 'stream') bench.source.breakStream(Widget, new WatchExpiredError('too old resource version'));
      else bench.source.breakStream(Widget, brokenStream());
      await settle();
      for (const name of ['a', 'b', 'c', 'f']) bench.source.put(Widget, { name });
      bench.source.remove(Widget, 'uid-d');
      bench.source.forgetHistory();
      await bench.pass(5_000);
      assert.deepEqual(bench.names, ['deleted d', 'modified a', 'modified b', 'modified c', 'added f'], how);
      assert.equal(bench.asked.filter((what) => what === 'watch from list').length, 2, how);
      assert.deepEqual(bench.firsts, [true, false], how);
      await bench.stop();
    }
  });

  it('P06a: a server that lets every version expire is asked ever more slowly', async () => {
    const bench = new Bench();
    await bench.start();
    for (let i = 0; i < 600; i += 1) {
      bench.source.breakStream(Widget, new WatchExpiredError('too old resource version'));
      await bench.pass(100);
    }
    assert(bench.asked.length <= 8, `asked ${bench.asked.length} times in a minute`);
    await bench.stop();
  });

  it('P06c: has one stream at most, and is calm when each one ends at once', async () => {
    const bench = new Bench();
    await bench.start();
    for (let i = 0; i < 600; i += 1) {
      bench.source.breakStream(Widget);
      assert(bench.source.openStreams <= 1);
      await bench.pass(100);
    }
    assert(bench.asked.length <= 8, `asked ${bench.asked.length} times in a minute`);
    await bench.stop();
  });

  for (const [what, error] of [
    ['a 500', apiError(500, 'InternalError')],
    ['a 429', apiError(429, 'TooManyRequests', 1_000)],
    ['a 403', apiError(403, 'Forbidden')],
    ['a 504', apiError(504, 'Timeout', 1_000)],
    ['ECONNRESET', brokenStream()],
    ['a defect of its own', new TypeError('cannot read properties of undefined')],
  ] as const) {
    it(`P06d P57: ${what} for a minute is asked about a few times, and then it goes on by itself`, async () => {
      const bench = new Bench();
      bench.source.put(Widget, { name: 'a' });
      await bench.start();
      bench.source.fail(Widget, error);
      bench.source.breakStream(Widget, error);
      const questions = () => bench.asked.length + bench.source.probes;
      const before = questions();
      await bench.pass(60_000);
      const asked = questions() - before;
      assert(asked <= 40 && asked > 2, `asked ${asked} times`);
      assert.notEqual(bench.reflector.liveness().lastError, undefined);

      bench.source.recover(Widget);
      bench.source.put(Widget, { name: 'b' });
      await bench.pass(61_000);
      assert.equal(bench.names.at(-1), 'added b');
      assert.equal(bench.reflector.liveness().lastError, undefined);
      assert.equal(bench.ended, false);
      await bench.stop();
    });
  }

  it('P07 P64: knows for how long a kind has been silent', async () => {
    const bench = await new Bench().start();
    await bench.pass(70_000);
    assert.equal(bench.reflector.liveness().idleMs, 70_000);
    bench.source.bookmark(Widget);
    await settle();
    assert.equal(bench.reflector.liveness().idleMs, 0);
    await bench.stop();
  });

  it('P01: resumes where it was after a stream that went silent', async () => {
    const bench = new Bench();
    await bench.start();
    bench.source.put(Widget, { name: 'a' });
    await bench.pass(80_000);
    bench.source.breakStream(Widget, brokenStream()); // The source noticed the silence.
    await settle();
    bench.source.put(Widget, { name: 'b' });
    await bench.pass(1_000);
    assert.deepEqual(bench.names, ['added a', 'added b']);
    assert.deepEqual(bench.asked, ['watch from list', 'watch from 101']);
    await bench.stop();
  });

  it('waits for a CRD that is not installed, and starts when it is', async () => {
    const bench = new Bench();
    bench.source.fail(Widget, apiError(404, 'NotFound'));
    await bench.start();
    assert.equal(bench.inventory.synced, true, 'a kind that does not exist has no objects, and that is known');
    await bench.pass(120_000);
    bench.source.recover(Widget);
    bench.source.put(Widget, { name: 'a' });
    await bench.pass(5_000);
    assert.deepEqual(bench.names, ['added a']);
    await bench.stop();
  });

  it('P06e: an event that could not be handled is not lost: nothing counts as known, and it lists', async () => {
    let broken = true;
    const onChange = (): void => {
      if (broken) throw new TypeError('defect');
    };
    const bench = new Bench({ onChange });
    await bench.start();
    bench.source.put(Widget, { name: 'a' });
    await settle();
    broken = false;
    await bench.pass(2_000);
    assert.deepEqual([bench.names, bench.firsts], [['added a'], [true, true]]);
    await bench.stop();
  });

  it('does not end before it is told to, then ends at once, whatever it was doing', async () => {
    for (const error of [undefined, apiError(503, 'ServiceUnavailable', 60_000)]) {
      const bench = new Bench();
      if (error !== undefined) bench.source.fail(Widget, error);
      await bench.start();
      assert.equal(bench.ended, false);
      await bench.stop();
      assert.deepEqual([bench.ended, bench.source.openStreams], [true, 0]);
    }
  });
});

describe('reflector: properties', () => {
  const name = fc.integer({ min: 0, max: 4 }).map((n) => `w${n}`);
  const action = fc.oneof(
    { weight: 5, arbitrary: fc.record({ do: fc.constant('put' as const), name }) },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constantFrom('bookmark', 'end', 'break', 'expire', 'forget', 'outage', 'recover', 'settle'),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ do: fc.constant('wait' as const), ms: fc.integer({ min: 100, max: 90_000 }) }),
    },
  );

  it('whatever breaks in whatever order: every last state is told, no delete is lost, resume points never go back', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 30, size: 'max' }), async (actions) => {
        const bench = await new Bench().start();
        const { source } = bench;
        for (const step of actions) {
          switch (step.do) {
            case 'put':
              source.put(Widget, { name: step.name });
              break;
            case 'remove':
              source.remove(Widget, `uid-${step.name}`);
              break;
            case 'wait':
              await bench.pass(step.ms);
              break;
            case 'bookmark':
              source.bookmark(Widget);
              break;
            case 'end':
              source.breakStream(Widget);
              break;
            case 'break':
              source.breakStream(Widget, brokenStream());
              break;
            case 'expire':
              source.breakStream(Widget, new WatchExpiredError('too old resource version'));
              break;
            case 'forget':
              source.forgetHistory();
              break;
            case 'outage':
              source.fail(Widget, brokenStream());
              source.breakStream(Widget, brokenStream());
              break;
            case 'recover':
              source.recover(Widget);
              break;
            case 'settle':
              await settle();
              break;
          }
        }
        source.recover(Widget);
        await bench.pass(65_000);
        await bench.stop();

        const mirror = new Map<string, string>();
        for (const change of bench.told) {
          if (change.kind === 'deleted') assert(mirror.delete(change.before.uid), 'a delete of what never was');
          else mirror.set(change.after.uid, change.after.resourceVersion);
        }
        const world = new Map(source.objects(Widget).map(({ uid, resourceVersion }) => [uid, resourceVersion]));
        assert.deepEqual(mirror, world);
        assert.equal(bench.inventory.size, world.size);

        const resumed = bench.asked.flatMap((what) => /^watch from (\d+)$/.exec(what)?.[1] ?? []).map(Number);
        assert.deepEqual(
          resumed,
          [...resumed].sort((a, b) => a - b),
        );
      }),
      { numRuns: 60 },
    );
  });
});
