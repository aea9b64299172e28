import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { AuditLog } from '../../support/audit-log.ts';

const directory = mkdtempSync(join(tmpdir(), 'audit-'));

describe("the API server's audit log", () => {
  after(() => rmSync(directory, { recursive: true, force: true }));

  it('tells of an accepted write which object, under which claim, when, and which version it left', () => {
    const writes = accepted(event({ responseObject: version('8') }));
    assert.deepEqual(writes, [
      {
        object: 'deployments default/web',
        holderIdentity: 'reconcile-1.i.c',
        receivedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
        completedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 682),
        version: 8,
      },
    ]);
  });

  it('tells a status from its object, and of a deletion no version', () => {
    const objectRef = { resource: 'webapps', subresource: 'status', namespace: 'default', name: 'web' };
    const deletion = event({ verb: 'delete', responseObject: { kind: 'Status', metadata: {} } });
    const writes = accepted(event({ objectRef, responseObject: version('8') }), deletion);
    assert.deepEqual(
      writes.map(({ object, version: left }) => ({ object, left })),
      [
        { object: 'webapps/status default/web', left: 8 },
        { object: 'deployments default/web', left: undefined },
      ],
    );
  });

  it('does not count what was refused, what was read, what others wrote, and what changed nothing', () => {
    const writes = accepted(
      event({ responseStatus: { code: 409 } }),
      event({ verb: 'get', responseObject: version('8') }),
      event({ user: { username: 'system:serviceaccount:kube-system:deployment-controller' } }),
      event({ requestObject: version('7'), responseObject: version('7') }),
    );
    assert.deepEqual(writes, []);
  });

  it('does not guess whose a write was', () => {
    const [write] = accepted(event({ userAgent: 'driftless/0.1.0', responseObject: version('8') }));
    assert.equal(write?.holderIdentity, undefined);
  });
});

function accepted(...events: readonly object[]) {
  const path = join(directory, 'audit.log');
  writeFileSync(path, events.map((e) => `${JSON.stringify(e)}\n`).join(''));
  return new AuditLog(path).acceptedWrites();
}

/** A change of a Deployment, from version 7 to another. */
function event(fields: object): object {
  return {
    verb: 'patch',
    user: { username: 'system:serviceaccount:driftless-system:driftless-functions' },
    userAgent: 'driftless/webapp reconcile-1.i.c',
    objectRef: { resource: 'deployments', namespace: 'default', name: 'web' },
    responseStatus: { code: 200 },
    requestObject: version('7'),
    requestReceivedTimestamp: '2026-01-02T03:04:05.678901Z',
    stageTimestamp: '2026-01-02T03:04:05.682101Z',
    ...fields,
  };
}

function version(resourceVersion: string) {
  return { metadata: { resourceVersion } };
}
