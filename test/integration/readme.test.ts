import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import type { Kind } from '../../shared/kube/kind.ts';
import type { KubeObject } from '../../shared/kube/object.ts';
import type { Controller } from '../../shared/reconcile/controller.ts';
import { memoryWorld } from '../support/memory-runtime.ts';

const README = readFileSync('README.md', 'utf8');
const blocks = (language: string): readonly string[] =>
  [...README.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, code]) => code ?? '');

/** In the package, where `driftless` means the package itself. */
const ROOM = join(import.meta.dirname, '..', '..', 'test');

describe('README', () => {
  let directory: string;
  let example: string;

  before(() => {
    mkdirSync(ROOM, { recursive: true });
    directory = mkdtempSync(join(ROOM, '.readme-'));
    example = join(directory, 'example.ts');
    const [code] = blocks('ts');
    writeFileSync(example, code ?? '');
  });
  after(() => rmSync(directory, { recursive: true, force: true }));

  it('its operator compiles under the strictest flags', () => {
    const config = { extends: '../../tsconfig.json', include: ['example.ts'] };
    writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify(config));
    execFileSync('npx', ['tsc', '-p', directory], { stdio: 'pipe' });
  });

  it('its operator does what the README says', async () => {
    const { Greeting, greeting } = (await import(pathToFileURL(example).href)) as {
      readonly Greeting: Kind<KubeObject>;
      readonly greeting: Controller;
    };
    const world = memoryWorld(greeting);
    world.cluster.create(Greeting, {
      apiVersion: 'example.com/v1',
      kind: 'Greeting',
      metadata: { namespace: 'default', name: 'w' },
      spec: { name: 'world' },
    });
    await world.ring();
    const [object, child] = world.cluster.objects();
    assert.deepEqual(child?.['data'], { text: 'Hello, world!' });
    assert.ok(object);
    const { text, conditions } = object['status'] as { text: string; conditions: { type: string; status: string }[] };
    assert.equal(text, 'Hello, world!');
    assert.deepEqual(
      conditions.map(({ type, status }) => `${type}=${status}`),
      ['Ready=True'],
    );
  });

  it('names only commands that exist', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
    const named = [...README.matchAll(/npm run ([a-z:]+)/g)].map(([, name]) => name ?? '');
    assert.ok(named.length >= 5);
    assert.deepEqual(
      named.filter((name) => scripts[name] === undefined),
      [],
    );
  });

  it('names only files that exist', () => {
    const links = [...README.matchAll(/\]\(([A-Z]+(?:\.md)?)\)/g)].map(([, file]) => file ?? '');
    assert.ok(links.length >= 4);
    for (const file of links) assert.notEqual(readFileSync(file, 'utf8'), '');
  });
});
