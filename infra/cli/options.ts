import { InvalidArgumentError, Option } from 'commander';

/** What every command that brings up a stack takes. */
export interface StackFlags {
  readonly apiPort?: number;
  readonly requireEmulators: boolean;
  readonly instances?: number;
  readonly strict?: true;
}

export function apiPortOption(): Option {
  return new Option('--api-port <port>', 'port of the API server (default: a free one)')
    .env('DRIFTLESS_API_PORT')
    .argParser(parsePort);
}

export function requireEmulatorsOption(): Option {
  const text = 'fail without the Pub/Sub and Firestore emulators instead of standing in for them';
  return new Option('--require-emulators', text).default(false, 'stand in for them');
}

export function instancesOption(): Option {
  return new Option('--instances <n>', 'processes that serve the reconcile function, each with a log of its own')
    .default(1)
    .argParser(parseInstances);
}

export function strictOption(): Option {
  return new Option('--strict', 'strict mode: the API server refuses whoever lost a lease, whatever it sends');
}

/** What every command about work items takes. */
export interface ItemFlags {
  readonly cluster?: string;
  readonly controller?: string;
}

export function clusterOption(): Option {
  return new Option('--cluster <id>', 'id of the cluster (default: DRIFTLESS_CLUSTER, or local)');
}

export function controllerOption(): Option {
  return new Option('--controller <name>', 'name of the controller, where several could be meant');
}

function parsePort(text: string): number {
  const port = Number(text);
  if (Number.isInteger(port) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('A port is a whole number from 1 to 65535.');
}

/** Each takes some 100 MiB. */
const MAX_INSTANCES = 20;

function parseInstances(text: string): number {
  const instances = Number(text);
  if (Number.isInteger(instances) && instances >= 1 && instances <= MAX_INSTANCES) return instances;
  throw new InvalidArgumentError(`How many instances is a whole number from 1 to ${MAX_INSTANCES}.`);
}
