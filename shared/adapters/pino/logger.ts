import { pino } from 'pino';
import type { LogFields, Logger } from '../../ports/logger.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LoggerOptions {
  /** Which part of the system writes: `forwarder`, `reconcile`. Stands in every line. */
  readonly component: string;
  /** The least level that is written. @default 'info' */
  readonly level?: LogLevel;
  /** @default stdout, written synchronously, so that no line is lost when the process ends */
  readonly destination?: pino.DestinationStream;
}

/**
 * JSON lines as Cloud Logging reads them (`severity`, `time`, `message`), with `level` beside for everybody else.
 *
 * Errors in any field are written with type, code, stack and the chain of causes. Fields that are named like secrets
 * are censored, two levels deep; that is a net, not a licence to log them.
 */
export function createLogger({ component, level = 'info', destination }: LoggerOptions): Logger {
  const log = pino(
    {
      level,
      base: { component },
      messageKey: 'message',
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: {
        level: (label) => ({ level: label, severity: SEVERITY[label] ?? 'DEFAULT' }),
        log: withErrorsSerialised,
      },
      redact: {
        paths: SECRET_NAMES.flatMap((name) => [name, `*.${name}`, `*.*.${name}`]),
        // A number under such a name is a fencing token or a size.
        censor: (value) => (typeof value === 'number' ? value : '[redacted]'),
      },
    },
    destination ?? pino.destination({ dest: 1, sync: true }),
  );
  return {
    debug: (message, fields = {}) => log.debug(fields, message),
    info: (message, fields = {}) => log.info(fields, message),
    warn: (message, fields = {}) => log.warn(fields, message),
    error: (message, fields = {}) => log.error(fields, message),
  };
}

/** https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#LogSeverity */
const SEVERITY: Readonly<Record<string, string>> = { debug: 'DEBUG', info: 'INFO', warn: 'WARNING', error: 'ERROR' };

const SECRET_NAMES = [
  'authorization',
  'Authorization',
  'password',
  'secret',
  'token',
  'accessToken',
  'privateKey',
  'data',
  'stringData',
];

function withErrorsSerialised(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? pino.stdSerializers.errWithCause(value) : value,
    ]),
  );
}
