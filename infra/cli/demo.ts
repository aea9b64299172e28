import { writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Command } from 'commander';
import pc from 'picocolors';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import type { Stack } from '../local/stack.ts';
import { DEMO_STEPS, type DemoStep, type DemoWorld, demoWorld } from './demo-steps.ts';
import { listenForInterrupt } from './interrupt.ts';
import { apiPortOption, requireEmulatorsOption, type StackFlags } from './options.ts';
import { STDOUT, seconds, type Terminal } from './progress.ts';
import { startStackFor } from './start-stack.ts';
import { isStory, Story } from './story.ts';
import { StepTimeoutError, until } from './until.ts';

interface DemoOptions extends StackFlags {
  readonly json?: string;
  readonly keep: boolean;
}

/** What `--json FILE` holds. Times in milliseconds, memory in MiB. */
interface DemoFacts {
  readonly startedInMs: Readonly<Record<string, number>>;
  readonly stackMs: number;
  readonly steps: readonly { readonly name: string; readonly ms: number }[];
  readonly memoryMiB: Readonly<Record<string, number>>;
  readonly kubeconfig: string;
}

export function demoCommand(environment: Environment): Command {
  return new Command('demo')
    .description('Run the whole story once, on real parts: create, repair, roll out, clean up; then exit.')
    .option('--json <file>', 'write the facts (times, memory) to a file')
    .option('--keep', 'leave everything running at the end, to look around with kubectl', false)
    .addOption(apiPortOption())
    .addOption(requireEmulatorsOption())
    .addHelpText(
      'after',
      '\nExamples:\n  npm run demo\n  npm run demo -- --keep\n  npm run demo -- --json facts.json\n',
    )
    .action(async (options: DemoOptions) => demo(options, environment, STDOUT));
}

async function demo(options: DemoOptions, environment: Environment, terminal: Terminal): Promise<void> {
  const interrupt = listenForInterrupt(terminal);
  const started = performance.now();
  terminal.line(pc.bold('Starting a cluster, a broker, a store, the forwarder and the functions'));
  const stack = await startStackFor({ flags: options, environment, interrupt, terminal });
  const stackMs = performance.now() - started;
  try {
    const steps = await runStory(stack, options, interrupt.signal, terminal);
    const facts: DemoFacts = {
      startedInMs: stack.startedInMs,
      stackMs: Math.round(stackMs),
      steps,
      memoryMiB: await stack.supervisor.memory(),
      kubeconfig: stack.controlPlane.kubeconfig,
    };
    summarise(facts, terminal);
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(facts, null, 2)}\n`);
    if (options.keep) await keep(stack, interrupt.signal, terminal);
  } finally {
    await stack.stop();
  }
}

async function runStory(stack: Stack, { keep }: DemoOptions, signal: AbortSignal, terminal: Terminal) {
  const world = demoWorld(stack.admin.user, signal);
  const told: { readonly name: string; readonly ms: number }[] = [];
  const story = new Story();
  let [lastHeard, heard] = [0, ''];
  const stopStory = stack.supervisor.onLine((_part, line) => {
    for (const text of story.hear(line)) {
      terminal.line(text);
      heard += text;
    }
    if (isStory(line)) lastHeard = performance.now();
  });
  for (const step of DEMO_STEPS) {
    if (keep && step.endsTheStory) continue;
    terminal.line(`\n${pc.bold(pc.underline(step.title))}`);
    heard = '';
    const ms = await takeStep(step, world, stack);
    // What a step still causes belongs under its title.
    await until(`the parts say: ${step.lastWords}`, signal, async () => heard.includes(step.lastWords));
    await until('the parts are quiet', signal, async () => performance.now() - lastHeard > QUIET_MS);
    for (const text of story.rest()) terminal.line(text);
    told.push({ name: step.name, ms });
    terminal.line(`${pc.green('✔')} ${step.done} ${pc.dim(`(${ms} ms)`)}`);
  }
  stopStory();
  return told;
}

/** A step is told when nothing has happened for so long. */
const QUIET_MS = 300;

/** @returns how long it took from the API server's answer until it was done, in milliseconds */
async function takeStep(step: DemoStep, world: DemoWorld, stack: Stack): Promise<number> {
  try {
    await step.act(world);
    const acted = performance.now();
    await Promise.race([step.untilDone(world), failureOf(stack)]);
    return Math.round(performance.now() - acted);
  } catch (error) {
    throw world.signal.aborted ? error : await explained(error, step, stack);
  }
}

/** Rejects when a part that nothing works without ends. */
async function failureOf(stack: Stack): Promise<never> {
  throw await stack.supervisor.failed;
}

/** How long it may take to notice that a process has ended. */
const NOTICE_MS = 1_000;

/** The dead part rather than what its death caused, and for a step that does not come about what the parts said last. */
async function explained(error: unknown, step: DemoStep, stack: Stack): Promise<unknown> {
  const cause = await Promise.race([stack.supervisor.failed, sleep(NOTICE_MS, undefined, { ref: false })]);
  if (cause !== undefined) return cause;
  if (!(error instanceof StepTimeoutError)) return error;
  const logs = ['forwarder', 'push-bridge', 'reconcile'].map((part) => {
    const lines = stack.supervisor.tail(part).slice(-8);
    return `last lines of ${part}:\n${lines.map((line) => `  ${line}`).join('\n')}`;
  });
  return new StepTimeoutError(`${step.title}: ${error.message}\n${logs.join('\n')}`);
}

function summarise({ steps, stackMs, memoryMiB, startedInMs }: DemoFacts, terminal: Terminal): void {
  const total = Object.values(memoryMiB).reduce((sum, mib) => sum + mib, 0);
  terminal.line(`\n${pc.bold('Summary')}`);
  terminal.line(`  the stack was ready in ${seconds(stackMs)}`);
  for (const { name, ms } of steps) terminal.line(`  ${name.padEnd(34)} ${String(ms).padStart(6)} ms`);
  terminal.line(`\n  ${'part'.padEnd(24)} ${'ready after'.padStart(12)} ${'memory'.padStart(9)}`);
  for (const [part, mib] of Object.entries(memoryMiB)) {
    terminal.line(
      `  ${part.padEnd(24)} ${seconds(startedInMs[part] ?? 0).padStart(12)} ${`${Math.round(mib)} MiB`.padStart(9)}`,
    );
  }
  terminal.line(`  ${'all'.padEnd(24)} ${''.padStart(12)} ${`${Math.round(total)} MiB`.padStart(9)}`);
}

async function keep(stack: Stack, signal: AbortSignal, terminal: Terminal): Promise<void> {
  terminal.line(`\n${pc.bold('Kept running.')} Join in from another terminal:\n`);
  terminal.line(`  source ${stack.envFile}`);
  terminal.line('  kubectl describe webapp shop');
  terminal.line('  kubectl delete service shop');
  terminal.line('  npx driftless explain webapp default/shop\n');
  terminal.line(pc.dim('Ctrl-C stops everything.'));
  await stack.untilEnded(signal);
}
