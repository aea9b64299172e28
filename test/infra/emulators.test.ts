import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Emulator, emulatorEnv, findEmulators } from '../../infra/local/emulators/find.ts';
import { javaVersion } from '../../infra/local/emulators/java.ts';
import { enforceDemoProject } from '../../infra/local/emulators/project.ts';
import { freePorts } from '../../infra/local/ports.ts';
import { ConfigError } from '../../shared/errors.ts';

const ports = { pubsub: 4001, firestore: 4002 };
const PUBSUB_JAR = 'platform/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.20-all.jar';
const FIRESTORE_JAR = 'platform/cloud-firestore-emulator/cloud-firestore-emulator.jar';

describe('finding the emulators', () => {
  let home: string;
  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'driftless-emulators-'));
    await put('sdk/bin/gcloud', '');
    await put(`sdk/${PUBSUB_JAR}`, '');
    await put('sdk/platform/pubsub-emulator/lib/cloud-pubsub-emulator-0.8.9-all.jar', '');
    await put(`sdk/${FIRESTORE_JAR}`, '');
    await put('bare-sdk/bin/gcloud', '');
    await put('java-8/bin/java', '#!/bin/sh\necho \'openjdk version "1.8.0_402"\' >&2\n');
    await put('java-21/bin/java', '#!/bin/sh\necho \'openjdk version "21.0.4" 2024-07-16\' >&2\n');
    await mkdir(join(home, 'links'));
    await symlink(join(home, 'sdk/bin/gcloud'), join(home, 'links/gcloud'));
  });
  after(() => rm(home, { recursive: true }));

  async function put(path: string, content: string): Promise<void> {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await writeFile(join(home, path), content);
    await chmod(join(home, path), 0o755);
  }

  /** Paths below the test's folder, separated as PATH separates them. */
  const path = (...folders: readonly string[]) => folders.map((folder) => join(home, folder)).join(':');

  it('takes the emulators that somebody else runs', async () => {
    const env = { PUBSUB_EMULATOR_HOST: '127.0.0.1:8085', FIRESTORE_EMULATOR_HOST: '[::1]:8080', PATH: '' };
    assert.deepEqual(await findEmulators(env, ports), {
      pubsub: { kind: 'external', host: '127.0.0.1:8085' },
      firestore: { kind: 'external', host: '[::1]:8080' },
    });
  });

  it("takes the Cloud SDK's, found beside the real place of gcloud, in the newest version", async () => {
    const { pubsub, firestore } = await findEmulators({ PATH: path('links', 'java-21/bin'), HOME: home }, ports);
    assert.equal(pubsub.kind, 'sdk');
    assert.equal(pubsub.host, '127.0.0.1:4001');
    assert.equal(pubsub.part.command, join(home, 'java-21/bin/java'));
    assert.deepEqual(pubsub.part.args.slice(-4), [
      '-jar',
      join(home, 'sdk', PUBSUB_JAR),
      '--host=127.0.0.1',
      '--port=4001',
    ]);
    assert.equal(firestore.kind, 'sdk');
    assert.deepEqual(firestore.part.args.slice(-5), [
      join(home, 'sdk', FIRESTORE_JAR),
      'com.google.cloud.datastore.emulator.firestore.CloudFirestore',
      'start',
      '--host=127.0.0.1',
      '--port=4002',
    ]);
  });

  it('passes over a Java that is too old', async () => {
    const env = { JAVA_HOME: join(home, 'java-8'), PATH: path('links', 'java-21/bin'), HOME: home };
    const { pubsub } = await findEmulators(env, ports);
    assert.equal(pubsub.kind, 'sdk');
    assert.equal(pubsub.part.command, join(home, 'java-21/bin/java'));
  });

  it('says which Java is too old', async () => {
    const { pubsub } = await findEmulators({ PATH: path('links', 'java-8/bin'), HOME: home }, ports);
    assert.deepEqual(pubsub, {
      kind: 'absent',
      reason: `the Pub/Sub emulator needs Java 17 or newer: ${join(home, 'java-8/bin/java')} is version 8`,
    });
  });

  it('says that there is no Java', async () => {
    const { firestore } = await findEmulators({ PATH: path('links'), HOME: home }, ports);
    assert.deepEqual(firestore, {
      kind: 'absent',
      reason: 'the Firestore emulator needs Java 17 or newer: there is none in JAVA_HOME or PATH',
    });
  });

  it('says which component a Cloud SDK lacks', async () => {
    const { pubsub } = await findEmulators({ CLOUDSDK_ROOT: join(home, 'bare-sdk'), PATH: '' }, ports);
    assert.deepEqual(pubsub, {
      kind: 'absent',
      reason: `the Cloud SDK in ${join(home, 'bare-sdk')} lacks the Pub/Sub emulator (gcloud components install pubsub-emulator)`,
    });
  });

  it('says that there is no Cloud SDK', async () => {
    const { pubsub } = await findEmulators({ CLOUDSDK_ROOT: join(home, 'nowhere'), PATH: '' }, ports);
    assert.deepEqual(pubsub, {
      kind: 'absent',
      reason: 'the Cloud SDK, which has the Pub/Sub emulator, is not installed',
    });
  });

  it('tells clients of the emulators that are there, and keeps them from looking for others', () => {
    assert.deepEqual(
      emulatorEnv({
        pubsub: { kind: 'external', host: '127.0.0.1:8085' },
        firestore: { kind: 'absent', reason: 'no Java' },
      }),
      { PUBSUB_EMULATOR_HOST: '127.0.0.1:8085', METADATA_SERVER_DETECTION: 'none' },
    );
  });

  for (const [printed, version] of [
    ['openjdk version "17.0.15" 2025-04-15', 17],
    ['java version "1.8.0_402"', 8],
    ['openjdk version "25" 2025-09-16', 25],
    ['openjdk version "23-ea" 2024-09-17', 23],
    ['The operation couldn’t be completed. Unable to locate a Java Runtime.', undefined],
  ] as const) {
    it(`reads ${version} from ${printed}`, () => assert.equal(javaVersion(printed), version));
  }
});

const [pubsubPort = 0, firestorePort = 0] = await freePorts(2);
const { PUBSUB_EMULATOR_HOST: _, FIRESTORE_EMULATOR_HOST: __, ...ownEnv } = process.env;
const found = await findEmulators(ownEnv, { pubsub: pubsubPort, firestore: firestorePort });

describe('the emulators as parts', { timeout: 60_000 }, () => {
  for (const [name, emulator] of Object.entries(found) as readonly (readonly [string, Emulator])[]) {
    const skip = emulator.kind === 'absent' ? emulator.reason : false;
    it(`R60: ${name} starts and says when it is ready`, { skip }, async () => {
      assert.ok(emulator.kind === 'sdk');
      const { command, args, ready } = emulator.part;
      const { PATH = '' } = process.env;
      const child = spawn(command, args, { env: { PATH }, stdio: 'ignore' });
      try {
        await ready(AbortSignal.timeout(30_000));
      } finally {
        child.kill('SIGKILL');
      }
    });
  }
});

describe('the project of the local stack', () => {
  it('may be any id that no real project can have', () => {
    enforceDemoProject('demo-driftless');
    enforceDemoProject('demo-1');
  });

  for (const id of ['', 'production', 'demo', 'demo-', 'my-demo-project', 'Demo-x']) {
    it(`must not be '${id}'`, () => {
      assert.throws(
        () => enforceDemoProject(id),
        (error) => error instanceof ConfigError && error.problems[0]?.startsWith(`'${id}' must start with 'demo-'`),
      );
    });
  }
});
