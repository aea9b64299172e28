import { Command } from 'commander';
import pc from 'picocolors';
import { controllers } from '../../functions/controllers/index.ts';
import type { Environment } from '../../shared/adapters/zod/environment.ts';
import { formatRef } from '../../shared/kube/key.ts';
import type { WorkStore } from '../../shared/ports/work-store.ts';
import { isStopped } from '../../shared/queue/redrive.ts';
import type { ItemKey, WorkItem } from '../../shared/queue/work-item.ts';
import { readConfig } from './config.ts';
import { chooseController, itemKeyOf, UnknownObjectError } from './find-object.ts';
import { clusterOption, controllerOption, type ItemFlags } from './options.ts';
import { STDOUT, type Terminal } from './progress.ts';
import { type WorkItems, withWorkItems } from './work-items.ts';

interface RedriveOptions extends ItemFlags {
  readonly all: boolean;
}

export function redriveCommand(environment: Environment): Command {
  const command = new Command('redrive')
    .description('Release an object from quarantine and backoff, and run it now.')
    .argument('[object]', 'NAMESPACE/NAME')
    .option('--all', 'every object of the cluster that is in quarantine or backing off', false)
    .addOption(clusterOption())
    .addOption(controllerOption())
    .addHelpText('after', '\nExamples:\n  npx driftless redrive default/shop\n  npx driftless redrive --all\n');
  return command.action(async (object: string | undefined, options: RedriveOptions) => {
    if ((object === undefined) !== options.all) command.error('error: name one object, or say --all');
    await redrive(object, options, environment, STDOUT);
  });
}

async function redrive(
  object: string | undefined,
  options: RedriveOptions,
  environment: Environment,
  terminal: Terminal,
): Promise<void> {
  const config = readConfig(environment);
  const { cluster = config.DRIFTLESS_CLUSTER, controller } = options;
  const one = object === undefined ? undefined : itemKeyOf(chooseController(controllers, options), cluster, object);
  if (one === undefined && controller !== undefined) chooseController(controllers, { controller });
  await withWorkItems(config, cluster, async (items) => {
    const keys = one === undefined ? await stoppedIn(items.store, cluster, controller) : [one];
    for (const key of keys) {
      const before = await redriveItem(items, key);
      if (before !== undefined) terminal.line(`${pc.green('✔')} ${formatRef(key)}: ${released(before)}`);
      else if (one !== undefined) throw new UnknownObjectError(key);
    }
    if (keys.length === 0) terminal.line('Nothing is in quarantine or backing off.');
  });
}

/** @returns the item as it was */
async function redriveItem({ queue, publisher }: WorkItems, key: ItemKey): Promise<WorkItem | undefined> {
  const before = await queue.redrive(key, new AbortController().signal);
  // If this is lost, the alarm rings instead.
  if (before !== undefined) await publisher.publish('changes', { key, news: { kind: 'alarm' }, trigger: 'redrive' });
  return before;
}

/** What the object was released from. */
export function released({ quarantine, alarm, lease, lastError }: WorkItem): string {
  if (quarantine !== null) return `released from quarantine (${quarantine.reason}), and rung`;
  if (alarm?.reason === 'backoff') return `released from backoff (${lastError?.code ?? 'no error'}), and rung`;
  if (lease !== null) return 'it is being worked on, and runs once more';
  return 'it was at rest, and is rung';
}

const PAGE = 300;

async function stoppedIn(store: WorkStore, cluster: string, controller: string | undefined): Promise<ItemKey[]> {
  const stopped: ItemKey[] = [];
  const { signal } = new AbortController();
  for (let after: ItemKey | undefined; ; ) {
    const page = await store.list(cluster, { limit: PAGE, ...(after === undefined ? {} : { after }) }, signal);
    const wanted = page.filter(({ key }) => controller === undefined || key.controller === controller);
    stopped.push(...wanted.filter(isStopped).map(({ key }) => key));
    after = page.at(-1)?.key;
    if (page.length < PAGE) return stopped;
  }
}
