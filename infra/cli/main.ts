#!/usr/bin/env node
import { Command, type CommanderError } from 'commander';
import pc from 'picocolors';
import packageJson from '../../package.json' with { type: 'json' };
import { OperatorError } from '../../shared/errors.ts';
import { demoCommand } from './demo.ts';
import { devCommand } from './dev.ts';
import { explainCommand } from './explain.ts';
import { INTERRUPTED } from './interrupt.ts';
import { redriveCommand } from './redrive.ts';
import { renderCommand } from './render.ts';

/** Wrong settings or arguments; everything else that fails exits with 1. */
const USAGE = 2;
const USAGE_CODES: ReadonlySet<string> = new Set([
  'INVALID_CONFIG',
  'PORT_TAKEN',
  'CONTROL_PLANE_UNAVAILABLE',
  'UNKNOWN_KIND',
]);

const commands = [
  demoCommand(process.env),
  devCommand(process.env),
  explainCommand(process.env),
  redriveCommand(process.env),
  renderCommand(),
];
const program = new Command('driftless')
  .description('Kubernetes operators without an operator pod.')
  .version(packageJson.version);
for (const command of commands) program.addCommand(command);
for (const command of [program, ...commands, ...commands.flatMap(({ commands: inner }) => inner)]) {
  command.showHelpAfterError('(--help shows how)').exitOverride(exit);
}

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

/** Commander asks for 1 where the arguments are wrong. */
function exit({ exitCode }: CommanderError): never {
  process.exit(exitCode === 0 ? 0 : USAGE);
}

function report(error: unknown): number {
  if (error instanceof DOMException && error.name === 'AbortError') return INTERRUPTED;
  if (!(error instanceof OperatorError)) {
    console.error(error);
    return 1;
  }
  console.error(`${pc.red(`error ${error.code}`)}: ${error.message}`);
  return USAGE_CODES.has(error.code) ? USAGE : 1;
}
