/** Values that a log line may carry. Never a Secret's data. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Structured logs: a constant message and fields, one line per outcome. */
export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}
