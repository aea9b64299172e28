import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { describe, it } from 'node:test';
import { createLogger, type LogLevel } from '../../../shared/adapters/pino/logger.ts';
import { TransientError } from '../../../shared/errors.ts';
import { ApiError } from '../../../shared/kube/api-error.ts';

describe('the logger', () => {
  it('R64: writes one JSON line as Cloud Logging reads it', () => {
    const { log, lines } = logger();
    log.warn('cannot apply', { key: 'default/web', durationMs: 7 });
    const [{ time, ...line } = {}] = lines();
    assert.match(String(time), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(line, {
      level: 'warn',
      severity: 'WARNING',
      component: 'reconcile',
      message: 'cannot apply',
      key: 'default/web',
      durationMs: 7,
    });
  });

  it('writes from its level on', () => {
    const { log, lines } = logger('warn');
    log.debug('1');
    log.info('2');
    log.warn('3');
    log.error('4');
    assert.deepEqual(
      lines().map(({ message, severity }) => [message, severity]),
      [
        ['3', 'WARNING'],
        ['4', 'ERROR'],
      ],
    );
  });

  it('writes an error with its code and the chain of causes, whatever its field is called', () => {
    const { log, lines } = logger();
    const cause = new ApiError('get x', { code: 503, reason: 'Down', message: 'away', causes: [] });
    log.error('failed', { failure: new TransientError('API_UNREACHABLE', 'no answer', { cause }) });
    const failure = Object(lines()[0]?.['failure']);
    assert.equal(failure.type, 'TransientError');
    assert.equal(failure.code, 'API_UNREACHABLE');
    assert.equal(failure.message, 'no answer');
    assert.match(failure.stack, /TransientError: no answer\n/);
    assert.equal(failure.cause.message, 'cannot get x: 503 Down away');
    assert.equal(failure.cause.status.code, 503);
  });

  it('R73: censors what is named like a secret, but not a fencing token', () => {
    const { log, lines } = logger();
    log.info('x', {
      token: 7,
      password: 'hunter2',
      request: { headers: { authorization: 'Bearer hunter2' } },
      secret: { metadata: { name: 'tls' }, data: { key: 'hunter2' } },
    });
    const [line] = lines();
    assert.equal(line?.['token'], 7);
    assert.equal(JSON.stringify(line).includes('hunter2'), false);
  });

  it('loses no line when the process ends at once', () => {
    const program = `
      import { createLogger } from './shared/adapters/pino/logger.ts';
      const log = createLogger({ component: 'x' });
      for (let i = 0; i < 1000; i++) log.info('line', { i });
      process.exit(0);`;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '-e', program], {
      encoding: 'utf8',
    });
    assert.equal(stdout.trim().split('\n').length, 1000);
  });
});

function logger(level?: LogLevel) {
  let text = '';
  const destination = {
    write(line: string) {
      text += line;
    },
  };
  const log = createLogger({ component: 'reconcile', destination, ...(level === undefined ? {} : { level }) });
  const lines = () =>
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { log, lines };
}
