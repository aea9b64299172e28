import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { PartEvent } from '../../infra/local/supervisor/kept-part.ts';
import { PartFailedError } from '../../infra/local/supervisor/part-failed-error.ts';
import { Supervisor, type SupervisorOptions } from '../../infra/local/supervisor/supervisor.ts';
import { eventually, isRunning } from './supervisor-processes.ts';
import { shellPart } from './supervisor-shell-part.ts';

const FOREVER = 'while :; do sleep 0.05; done';
const open: Supervisor[] = [];

function newSupervisor(options: SupervisorOptions = {}): Supervisor {
  const supervisor = new Supervisor(options);
  open.push(supervisor);
  return supervisor;
}

/** Starts a part that runs until it is ended; `setup` is done when this resolves. */
async function startAndGetPid(supervisor: Supervisor, name: string, setup = 'true'): Promise<number> {
  const said = Promise.withResolvers<string>();
  const forget = supervisor.onLine((part, line) => part === name && said.resolve(line));
  await supervisor.start(shellPart(name, `${setup}; echo $$; ${FOREVER}`));
  const pid = Number(await said.promise);
  forget();
  return pid;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((supervisor) => supervisor.stopNow()));
});

describe('the supervisor starts parts', () => {
  it('gives a part PATH, HOME and what it declares, and nothing else, so no credential leaks in', async () => {
    const supervisor = newSupervisor();
    const lines: string[] = [];
    supervisor.onLine((_part, line) => lines.push(line));
    await supervisor.start(shellPart('env', `env; echo end; ${FOREVER}`, { env: { DRIFTLESS_COLOUR: 'blue' } }));
    await eventually('the part has printed its environment', () => lines.includes('end'));
    const names = lines.filter((line) => line.includes('=')).map((line) => line.split('=')[0] ?? '');
    // The shell itself adds PWD, and some shells these two.
    const declared = names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name));
    assert.deepEqual(
      declared.toSorted((a, b) => a.localeCompare(b)),
      ['DRIFTLESS_COLOUR', 'HOME', 'PATH'],
    );
  });

  it('says which part failed, how it ended and what it said last', async () => {
    const supervisor = newSupervisor();
    const script = 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo line $i >&2; done; exit 7';
    const failure = supervisor.start(shellPart('bad', script, { ready: neverReady }));
    await assert.rejects(failure, (thrown) => {
      assert(thrown instanceof PartFailedError);
      assert.equal(thrown.code, 'PART_FAILED');
      assert.equal(thrown.part, 'bad');
      assert.equal(thrown.how, 'ended with exit code 7');
      assert.equal(thrown.lastLines.length, 20);
      assert.equal(thrown.lastLines.at(-1), 'line 30');
      assert.match(thrown.message, /^bad ended with exit code 7\. Its last lines:\n {2}line 11\n/);
      return true;
    });
  });

  it('names a program that does not exist', async () => {
    const supervisor = newSupervisor();
    const part = shellPart('absent', '', { command: '/nowhere/etcd', ready: neverReady });
    await assert.rejects(supervisor.start(part), /absent ended with exit code 127\..*\n.*\/nowhere\/etcd/);
  });

  it('gives up on a part that is not ready in time, and ends it', async () => {
    const supervisor = newSupervisor({ readyWithinMs: 200 });
    const pids: number[] = [];
    supervisor.onLine((_part, line) => pids.push(Number(line)));
    const part = shellPart('slow', `echo $$; ${FOREVER}`, { ready: neverReady });
    await assert.rejects(supervisor.start(part), { code: 'PART_FAILED', how: 'was not ready within 0.2 s' });
    assert.equal(isRunning(pids[0] ?? 0), false);
  });

  it('keeps stdout and stderr of each part in a log of its own', async () => {
    const supervisor = newSupervisor();
    await supervisor.start(shellPart('talker', `echo out; echo err >&2; ${FOREVER}`));
    const log = join(supervisor.directory, 'logs', 'talker.log');
    await eventually(
      'both lines are logged',
      () => /out\n/.test(readFileSync(log, 'utf8')) && /err\n/.test(readFileSync(log, 'utf8')),
    );
  });

  it('measures the memory of a part together with its descendants', async () => {
    const supervisor = newSupervisor();
    const hold = 'const b = Buffer.alloc(60e6, 1); setInterval(() => b, 1e3); console.log("held")';
    const held = Promise.withResolvers<void>();
    supervisor.onLine((_part, line) => line === 'held' && held.resolve());
    await supervisor.start(shellPart('holder', `"${process.execPath}" -e '${hold}'; true`));
    await held.promise;
    const { holder = 0 } = await supervisor.memory();
    assert(holder > 60 && holder < 400, `${holder} MiB`);
  });
});

describe('a part that ends by itself', () => {
  it('fails the stack if nothing works without it', async () => {
    const supervisor = newSupervisor();
    await supervisor.start(shellPart('etcd', 'echo "disk is full" >&2; exit 3'));
    const failure = await supervisor.failed;
    assert.equal(failure.message, 'etcd ended with exit code 3. Its last lines:\n  disk is full');
  });

  it('is started again, after a little longer each time, if a platform would do so', async () => {
    const events: PartEvent[] = [];
    const supervisor = newSupervisor({ onEvent: (event) => events.push(event) });
    await supervisor.start(shellPart('forwarder', 'exit 1', { whenItEnds: 'restart' }));
    const restarts = () => events.filter((event) => event.kind === 'restarting');
    await eventually('it was restarted three times', () => restarts().length >= 3);
    assert.deepEqual(
      restarts()
        .slice(0, 3)
        .map(({ how, inMs }) => [how, inMs]),
      [
        ['ended with exit code 1', 100],
        ['ended with exit code 1', 200],
        ['ended with exit code 1', 400],
      ],
    );
  });

  it('R75: is replaced after a kill -9, within the first delay', async () => {
    const events: PartEvent[] = [];
    const supervisor = newSupervisor({ onEvent: (event) => events.push(event) });
    await supervisor.start(shellPart('function', FOREVER, { whenItEnds: 'restart' }));
    supervisor.kill('function', 'SIGKILL');
    await eventually('it is ready again', () => events.filter((event) => event.kind === 'ready').length === 2);
    assert.deepEqual(
      events.map((event) => event.kind),
      ['starting', 'ready', 'restarting', 'starting', 'ready'],
    );
  });

  it('does not count as failed when it was restarted on purpose', async () => {
    const supervisor = newSupervisor();
    const before = await startAndGetPid(supervisor, 'api');
    await supervisor.restart('api', 'SIGKILL');
    assert.equal(isRunning(before), false);
    assert.equal(await Promise.race([supervisor.failed, Promise.resolve('running')]), 'running');
  });
});

describe('the supervisor leaves nothing behind', () => {
  it('ends the last part first and removes the directory', async () => {
    const supervisor = newSupervisor();
    const order = await mkdtemp(join(tmpdir(), 'driftless-test-'));
    const script = (name: string) => `trap 'echo ${name} >>${order}/log; exit 0' TERM`;
    const pids = [
      await startAndGetPid(supervisor, 'first', script('first')),
      await startAndGetPid(supervisor, 'second', script('second')),
    ];
    await Promise.all([supervisor.stop(), supervisor.stop()]);
    assert.equal(readFileSync(join(order, 'log'), 'utf8'), 'second\nfirst\n');
    await rm(order, { recursive: true });
    assert.deepEqual(pids.map(isRunning), [false, false]);
    assert.equal(existsSync(supervisor.directory), false);
  });

  it('kills a part that ignores SIGTERM, and its children, after the grace period', async () => {
    const supervisor = newSupervisor({ graceMs: 200 });
    const pid = await startAndGetPid(supervisor, 'stubborn', `trap '' TERM; sleep 600 & true`);
    await supervisor.stop();
    assert.equal(isRunning(pid), false);
    assert.equal(groupMembers(pid), 0);
  });

  it('does not wait when it is told to stop now', async () => {
    const supervisor = newSupervisor({ graceMs: 60_000 });
    const pid = await startAndGetPid(supervisor, 'stubborn', `trap '' TERM`);
    const slow = supervisor.stop();
    await supervisor.stopNow();
    await slow;
    assert.equal(isRunning(pid), false);
    assert.equal(existsSync(supervisor.directory), false);
  });

  it('stops while a part is still starting', async () => {
    const supervisor = newSupervisor();
    const started = supervisor.start(shellPart('starting', FOREVER, { ready: neverReady }));
    await Promise.all([assert.rejects(started, { name: 'AbortError' }), supervisor.stop()]);
    assert.equal(existsSync(supervisor.directory), false);
  });

  it('leaves no process and no directory when it is itself killed with kill -9', async () => {
    const script = fileURLToPath(new URL('supervisor-victim.ts', import.meta.url));
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const output = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))));
    const { directory, pids } = JSON.parse(output) as { directory: string; pids: number[] };
    assert.deepEqual(pids.map(isRunning), [true, true, true]);

    child.kill('SIGKILL');

    await eventually('every process is gone', () => !pids.some(isRunning));
    await eventually('the directory is gone', () => !existsSync(directory) && !existsSync(`${directory}.gone`));
  });

  it('cleans up even when somebody has killed the reaper', async () => {
    const supervisor = newSupervisor();
    const pid = await startAndGetPid(supervisor, 'part');
    const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,args=']);
    const reaper = stdout.split('\n').find((line) => line.includes(`reap ${supervisor.directory}`));
    process.kill(Number.parseInt(reaper ?? '', 10), 'SIGKILL');
    await supervisor.stop();
    assert.equal(isRunning(pid), false);
    assert.equal(existsSync(supervisor.directory), false);
  });
});

function neverReady(signal: AbortSignal): Promise<void> {
  return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
}

function groupMembers(leader: number): number {
  return readdirSync('/proc').filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return Number(group) === leader && state !== 'Z';
    } catch {
      return false;
    }
  }).length;
}
