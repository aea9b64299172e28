import { InvalidArgumentError } from 'commander';

/** @throws {InvalidArgumentError} which commander shows with the option's name */
export function parsePort(text: string): number {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new InvalidArgumentError('A port is a whole number from 1 to 65535.');
  }
  return port;
}
