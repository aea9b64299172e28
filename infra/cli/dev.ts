import { Command } from 'commander';
import pc from 'picocolors';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { messageOf } from '../../shared/errors.ts';
import type { Stack } from '../local/stack.ts';
import { watchSources } from '../local/watch-sources.ts';
import { listenForInterrupt } from './interrupt.ts';
import { apiPortOption, instancesOption, requireEmulatorsOption, type StackFlags, strictOption } from './options.ts';
import { STDOUT, seconds, type Terminal } from './progress.ts';
import { startStackFor } from './start-stack.ts';
import { Story } from './story.ts';

export function devCommand(environment: Environment): Command {
  return new Command('dev')
    .description('Run the whole stack locally and keep it: functions restart when their code changes.')
    .addOption(apiPortOption())
    .addOption(requireEmulatorsOption())
    .addOption(instancesOption())
    .addOption(strictOption())
    .addHelpText(
      'after',
      '\nExamples:\n  npm run dev\n  npm run dev -- --api-port 6443\n  npm run dev -- --instances 3 --strict\n',
    )
    .action(async (options: StackFlags) => dev(options, environment, STDOUT));
}

async function dev(options: StackFlags, environment: Environment, terminal: Terminal): Promise<void> {
  const interrupt = listenForInterrupt(terminal);
  const stack = await startStackFor({ flags: options, environment, interrupt, terminal });
  const sources = watchSources({
    folders: ['functions', 'shared'],
    onChange: (file) => restartFunctions(file, stack, terminal),
    // The next edit may mend what this one broke.
    onError: (error) => terminal.line(`${pc.red('✘')} ${messageOf(error)}`),
  });
  try {
    const story = new Story();
    const stopStory = stack.supervisor.onLine((_part, line) => {
      for (const text of story.hear(line)) terminal.line(text);
    });
    terminal.line(`\n${pc.bold('Ready.')} Join in from another terminal:\n`);
    terminal.line(`  source ${stack.envFile}`);
    terminal.line('  kubectl apply -f functions/controllers/webapp/example.yaml');
    terminal.line('  kubectl get webapps --watch');
    terminal.line('  npx driftless explain webapp default/shop\n');
    terminal.line(pc.dim(`KUBECONFIG=${stack.controlPlane.kubeconfig}`));
    terminal.line(pc.dim(`Logs: ${stack.supervisor.directory}/logs   Ctrl-C stops everything.\n`));
    await stack.untilEnded(interrupt.signal);
    stopStory();
  } finally {
    sources.close();
    await stack.stop();
  }
}

async function restartFunctions(file: string, { supervisor, reconcilers }: Stack, terminal: Terminal): Promise<void> {
  terminal.line(`${pc.yellow('↻')} ${file} changed: the functions start again`);
  const began = performance.now();
  await Promise.all([...reconcilers, 'sweep'].map((name) => supervisor.restart(name)));
  terminal.line(`${pc.green('✔')} the functions serve the change ${pc.dim(`(${seconds(performance.now() - began)})`)}`);
  if (CHANGES_THE_CLUSTER.test(file)) {
    terminal.line(
      pc.dim('  CRDs, watches and permissions are those of the start: a changed kind needs a new npm run dev.'),
    );
  }
}

const CHANGES_THE_CLUSTER = /controllers\/(?:index|.*\/kind)\.ts$/;
