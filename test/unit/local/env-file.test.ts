import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { shellExports } from '../../../infra/local/env-file.ts';

describe('the file by which a terminal joins in', () => {
  it('is one export a line', () => {
    assert.equal(
      shellExports({ KUBECONFIG: '/tmp/run/admin.kubeconfig', GOOGLE_CLOUD_PROJECT: 'demo-driftless' }),
      "export KUBECONFIG='/tmp/run/admin.kubeconfig'\nexport GOOGLE_CLOUD_PROJECT='demo-driftless'\n",
    );
  });

  it('gives a shell every value as it is', () => {
    const value = `it's "$HOME" \`id\` \\ *`;
    const script = `${shellExports({ VALUE: value })}printf %s "$VALUE"`;
    assert.equal(execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }), value);
  });
});
