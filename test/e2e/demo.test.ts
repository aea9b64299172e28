import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { findBinaries } from '../../infra/local/control-plane/find-binaries.ts';
import { Command } from '../support/command.ts';
import { pathWithout } from '../support/path-without.ts';

const { misses, binaries } = await findBinaries({ environment: process.env });
const skip =
  binaries === undefined && `no control plane: ${misses.map(({ way, reason }) => `${way} ${reason}`).join(', ')}`;

// The stack starts emulators of its own; those of the test run belong to other tests.
const env = { PUBSUB_EMULATOR_HOST: undefined, FIRESTORE_EMULATOR_HOST: undefined };

const directory = mkdtempSync(join(tmpdir(), 'demo-test-'));
after(() => rmSync(directory, { recursive: true, force: true }));

describe('npm run demo', () => {
  it('R60: tells the whole story on real parts, writes the facts, exits 0 and leaves nothing behind', {
    skip,
  }, async () => {
    const facts = join(directory, 'facts.json');
    const demo = new Command('npm', ['run', 'demo', '--', '--json', facts], { env });
    const code = await demo.ended;
    assert.equal(code, 0, demo.output.slice(-3000));
    assert.deepEqual(demo.leftovers(), []);
    demo.forget();

    const { steps } = JSON.parse(readFileSync(facts, 'utf8')) as { steps: { name: string }[] };
    assert.deepEqual(
      steps.map(({ name }) => name),
      [
        'created, until Ready',
        'Service deleted, until repaired',
        'image changed, until rolled out',
        'deleted, until cleaned up',
      ],
    );
    // The way of an event, as a person reads it.
    assert.match(demo.output, /watch +ADDED WebApp default\/shop → message \d+ to changes/);
    assert.match(demo.output, /claim +token \d+ for message \d+ \(ADDED WebApp default\/shop\)/);
    assert.match(demo.output, /call +create Deployment\.apps default\/shop/);
    assert.match(demo.output, /spec\.template\.spec\.containers\[name=web\]\.image: nginx:1\.27 → nginx:1\.29/);
    assert.match(demo.output, /status +WebApp\.apps\.driftless\.dev default\/shop/);
    assert.match(demo.output, /then forgotten: the object is gone/);
  });

  it('R60: without Java it runs on the embedded stand-ins, and says so in one line', { skip }, async () => {
    const shadow = pathWithout(['java']);
    const demo = new Command('npm', ['run', 'demo'], { env: { ...env, PATH: shadow.path, JAVA_HOME: undefined } });
    assert.equal(await demo.ended, 0, demo.output.slice(-3000));
    shadow.remove();
    const lines = demo.output.split('\n').filter((line) => line.includes('embedded stand-ins'));
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /needs Java 17 or newer/);
    assert.deepEqual(demo.leftovers(), []);
    demo.forget();
  });

  it('a part that nothing works without and that dies ends the demo: it is named, with its last words', {
    skip,
  }, async () => {
    const demo = new Command('npm', ['run', 'demo'], { env });
    await demo.untilItSays('A WebApp is created');
    process.kill(demo.pidOf('kube-apiserver'), 'SIGKILL');
    assert.equal(await demo.ended, 1);
    assert.match(demo.output, /error PART_FAILED: kube-apiserver was ended by SIGKILL/);
    assert.deepEqual(await demo.settledLeftovers(5_000), []);
    demo.forget();
  });

  it('a port that is taken is named, with the setting that chose it, and nothing is started', { skip }, async () => {
    const { createServer } = await import('node:net');
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const address = server.address();
    assert.ok(typeof address === 'object' && address !== null);
    const demo = new Command('npm', ['run', 'demo', '--', '--api-port', String(address.port)]);
    assert.equal(await demo.ended, 2);
    server.close();
    assert.match(demo.output, new RegExp(`error PORT_TAKEN: port ${address.port} \\(chosen by --api-port\\) is taken`));
    assert.deepEqual(demo.leftovers(), []);
    demo.forget();
  });
});
