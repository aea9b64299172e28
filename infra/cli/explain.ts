import { Command } from 'commander';
import { controllers } from '../../functions/controllers/index.ts';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { readConfig } from './config.ts';
import { explain, verdict } from './explanation.ts';
import { chooseController, itemKeyOf, UnknownObjectError } from './find-object.ts';
import { clusterOption, controllerOption, type ItemFlags } from './options.ts';
import { STDOUT, type Terminal } from './progress.ts';
import { withWorkItems } from './work-items.ts';

interface ExplainOptions extends ItemFlags {
  readonly json: boolean;
}

export function explainCommand(environment: Environment): Command {
  return new Command('explain')
    .description('Say why an object ran, or why it does not run: lease, quarantine, alarm, failures, last runs.')
    .argument('<kind>', 'as kubectl takes it: webapp, webapps, webapp.apps.driftless.dev')
    .argument('<object>', 'NAMESPACE/NAME')
    .option('--json', 'write the work item and the verdict as JSON', false)
    .addOption(clusterOption())
    .addOption(controllerOption())
    .addHelpText('after', '\nExample:\n  npx driftless explain webapp default/shop\n')
    .action(async (kind: string, object: string, options: ExplainOptions) =>
      explainObject(kind, object, options, environment, STDOUT),
    );
}

async function explainObject(
  kind: string,
  object: string,
  options: ExplainOptions,
  environment: Environment,
  terminal: Terminal,
): Promise<void> {
  const config = readConfig(environment);
  const cluster = options.cluster ?? config.DRIFTLESS_CLUSTER;
  const controller = chooseController(controllers, { kind, controller: options.controller });
  const key = itemKeyOf(controller, cluster, object);
  const { item, nowMs } = await withWorkItems(config, cluster, ({ store }) =>
    store.read(key, new AbortController().signal),
  );
  if (item === undefined) throw new UnknownObjectError(key);
  if (options.json) terminal.line(JSON.stringify({ nowMs, verdict: verdict(item, nowMs).join('\n'), item }, null, 2));
  else for (const line of explain(item, nowMs)) terminal.line(line);
}
