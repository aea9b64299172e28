import { Command, Option } from 'commander';
import pc from 'picocolors';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { startStack } from '../local/stack.ts';
import { watchSources } from '../local/watch-sources.ts';
import { listenForInterrupt } from './interrupt.ts';
import { parsePort } from './options.ts';
import { STDOUT, seconds, showProgress, type Terminal } from './progress.ts';
import { Story } from './story.ts';

interface DevOptions {
  readonly apiPort?: number;
  readonly requireEmulators: boolean;
}

export function devCommand(environment: Environment): Command {
  return new Command('dev')
    .description('Run the whole stack locally and keep it: functions restart when their code changes.')
    .addOption(
      new Option('--api-port <port>', 'port of the API server (default: a free one)')
        .env('DRIFTLESS_API_PORT')
        .argParser(parsePort),
    )
    .option(
      '--require-emulators',
      'fail without the Pub/Sub and Firestore emulators instead of standing in for them',
      false,
    )
    .addHelpText('after', '\nExamples:\n  npm run dev\n  npm run dev -- --api-port 6443\n')
    .action(async (options: DevOptions) => dev(options, environment, STDOUT));
}

async function dev(options: DevOptions, environment: Environment, terminal: Terminal): Promise<void> {
  const interrupt = listenForInterrupt(terminal);
  const stack = await startStack({
    ...options,
    environment,
    onEvent: showProgress(terminal),
    onSupervisor: (supervisor) => interrupt.onSecond(() => supervisor.stopNow()),
    signal: interrupt.signal,
  });
  const sources = watchSources(['functions', 'shared'], async (changed) => {
    terminal.line(`${pc.yellow('↻')} ${changed} changed: the functions start again`);
    const began = performance.now();
    await Promise.all([stack.supervisor.restart('reconcile'), stack.supervisor.restart('sweep')]);
    terminal.line(
      `${pc.green('✔')} the functions serve the change ${pc.dim(`(${seconds(performance.now() - began)})`)}`,
    );
  });
  try {
    const story = new Story();
    const stopStory = stack.supervisor.onLine((_part, line) => {
      for (const text of story.hear(line)) terminal.line(text);
    });
    terminal.line(`\n${pc.bold('Ready.')} Join in from another terminal:\n`);
    terminal.line(`  export KUBECONFIG=${stack.controlPlane.kubeconfig}`);
    terminal.line('  kubectl apply -f functions/controllers/webapp/example.yaml');
    terminal.line('  kubectl get webapps --watch\n');
    terminal.line(pc.dim(`Logs: ${stack.supervisor.directory}/logs   Ctrl-C stops everything.\n`));
    await stack.untilEnded(interrupt.signal);
    stopStory();
  } finally {
    sources.close();
    await stack.stop();
  }
}
