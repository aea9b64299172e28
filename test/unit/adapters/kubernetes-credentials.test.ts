import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { loadCredentials } from '../../../shared/adapters/kubernetes/credentials.ts';
import { ConfigError } from '../../../shared/errors.ts';

describe('credentials from a kubeconfig', () => {
  const folder = mkdtempSync(join(tmpdir(), 'driftless-credentials-'));
  const path = join(folder, 'kubeconfig');
  after(() => rmSync(folder, { recursive: true }));
  const load = (context?: string) =>
    loadCredentials({ kind: 'kubeconfig', path, ...(context === undefined ? {} : { context }) });

  it('say where the server is, who we are, and whom to trust', async () => {
    write({ token: 'one' });
    assert.deepEqual(await load().current(), {
      origin: 'https://10.0.0.1:6443',
      basePath: '/clusters/a',
      headers: { Authorization: 'Bearer one' },
      tls: { ca: 'CA', cert: undefined, key: undefined, servername: 'api', rejectUnauthorized: true },
    });
  });

  it('take the named context instead of the current one', async () => {
    write({ token: 'one' });
    assert.deepEqual((await load('other').current()).headers, { Authorization: 'Bearer other' });
  });

  it('carry a client certificate', async () => {
    write({ 'client-certificate-data': base64('CERT'), 'client-key-data': base64('KEY') });
    const { headers, tls } = await load().current();
    assert.deepEqual([headers, tls.cert, tls.key], [{}, 'CERT', 'KEY']);
  });

  it('are read anew when the server refused them, once for all callers', async () => {
    write({ token: 'one' });
    const credentials = load();
    const refused = await credentials.current();
    write({ token: 'two' });
    const [first, second] = await Promise.all([credentials.renewed(refused), credentials.renewed(refused)]);
    assert.deepEqual(first.headers, { Authorization: 'Bearer two' });
    assert.deepEqual(second, first);
    assert.equal(await credentials.current(), first);
    assert.equal(await credentials.renewed(refused), first);
  });

  it('can be read after a failure', async () => {
    rmSync(path, { force: true });
    const credentials = load();
    await assert.rejects(credentials.current(), ConfigError);
    write({ token: 'one' });
    assert.deepEqual((await credentials.current()).headers, { Authorization: 'Bearer one' });
  });

  it('name what is wrong with the file', async () => {
    write({ token: 'one' });
    await assert.rejects(load('absent').current(), (error) => {
      assert.ok(error instanceof ConfigError);
      assert.deepEqual(error.problems, ['the current context names no cluster', 'the current context names no user']);
      return true;
    });
  });

  function write(user: Readonly<Record<string, string>>): void {
    const server = 'https://10.0.0.1:6443/clusters/a/';
    const config = {
      'current-context': 'main',
      clusters: [
        { name: 'c', cluster: { server, 'certificate-authority-data': base64('CA'), 'tls-server-name': 'api' } },
      ],
      users: [
        { name: 'main', user },
        { name: 'other', user: { token: 'other' } },
      ],
      contexts: [
        { name: 'main', context: { cluster: 'c', user: 'main' } },
        { name: 'other', context: { cluster: 'c', user: 'other' } },
      ],
    };
    writeFileSync(path, JSON.stringify(config));
  }
});

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
