#!/usr/bin/env node
import { Command } from 'commander';
import pc from 'picocolors';
import packageJson from '../../package.json' with { type: 'json' };
import { OperatorError } from '../../shared/errors.ts';
import { demoCommand } from './demo.ts';
import { devCommand } from './dev.ts';
import { INTERRUPTED } from './interrupt.ts';
import { renderCommand } from './render.ts';

/** Wrong settings or arguments; everything else that fails exits with 1. */
const USAGE = 2;
const USAGE_CODES: ReadonlySet<string> = new Set(['INVALID_CONFIG', 'PORT_TAKEN', 'CONTROL_PLANE_UNAVAILABLE']);

const program = new Command('driftless')
  .description('Kubernetes operators without an operator pod.')
  .version(packageJson.version)
  .addCommand(demoCommand(process.env))
  .addCommand(devCommand(process.env))
  .addCommand(renderCommand())
  .showHelpAfterError('(driftless --help shows how)');

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
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
