import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { type Finding, lint } from './lint.ts';
import { ROOT } from './project.ts';

interface Layer {
  readonly file: string;
  readonly may: readonly string[];
  readonly mayNot: readonly string[];
}

/** What a file of each layer may import, and what the gate refuses. */
const LAYERS: readonly Layer[] = [
  { file: 'shared/errors.ts', may: [], mayNot: ['./kube/key.ts', 'node:util', 'zod'] },
  {
    file: 'shared/kube/key.ts',
    may: ['../errors.ts', './kind.ts'],
    mayNot: [
      '../ports/clock.ts',
      '../queue/lease.ts',
      '../adapters/pino/logger.ts',
      'node:fs',
      'zod',
      '@kubernetes/client-node',
    ],
  },
  {
    file: 'shared/queue/lease.ts',
    may: ['../errors.ts', '../kube/kind.ts', '../message/codec.ts', './backoff.ts', 'node:util'],
    mayNot: [
      '../ports/clock.ts',
      './work-queue.ts',
      '../reconcile/run.ts',
      '../adapters/memory/store.ts',
      'zod',
      'node:fs',
    ],
  },
  { file: 'shared/message/codec.ts', may: ['../queue/backoff.ts'], mayNot: ['../ports/clock.ts', 'pino'] },
  { file: 'shared/watch/predicates.ts', may: ['../kube/kind.ts'], mayNot: ['./reflector.ts', '../ports/clock.ts'] },
  { file: 'shared/reconcile/diff.ts', may: ['../kube/kind.ts'], mayNot: ['./run.ts', '../ports/clock.ts', 'undici'] },
  { file: 'shared/readiness/service.ts', may: ['../kube/kind.ts'], mayNot: ['../ports/clock.ts', 'zod'] },
  {
    file: 'shared/crd/render.ts',
    may: ['zod', 'yaml', '../kube/kind.ts'],
    mayNot: ['../ports/clock.ts', 'pino', 'node:fs'],
  },
  {
    file: 'shared/queue/work-queue.ts',
    may: ['../ports/clock.ts', '../kube/kind.ts', './backoff.ts', '../errors.ts'],
    mayNot: [
      '../adapters/memory/store.ts',
      'cockatiel',
      'node:fs',
      '../../functions/config.ts',
      '../../infra/local/part.ts',
    ],
  },
  {
    file: 'shared/queue/alarm-clock.ts',
    may: ['../ports/clock.ts', './alarm-table.ts', '../errors.ts'],
    mayNot: ['../adapters/memory/store.ts', '@google-cloud/firestore', '../../infra/local/part.ts'],
  },
  {
    file: 'shared/queue/alarm-table.ts',
    may: ['../watch/agenda.ts', './work-item.ts'],
    mayNot: ['./alarm-clock.ts', '../ports/alarm-source.ts'],
  },
  {
    file: 'shared/watch/reflector.ts',
    may: ['../ports/clock.ts', './predicates.ts'],
    mayNot: ['../adapters/memory/store.ts', 'undici'],
  },
  {
    file: 'shared/reconcile/run.ts',
    may: ['../ports/clock.ts', '../queue/work-queue.ts', './diff.ts'],
    mayNot: ['../adapters/memory/store.ts', '@google-cloud/firestore'],
  },
  {
    file: 'shared/adapters/firestore/work-store.ts',
    may: ['@google-cloud/firestore', '../../ports/clock.ts', '../../queue/lease.ts', 'node:crypto'],
    mayNot: [
      '@google-cloud/pubsub',
      '../memory/store.ts',
      '../../../functions/config.ts',
      '../../../infra/local/part.ts',
      'undici',
    ],
  },
  {
    file: 'shared/adapters/kubernetes/agents.ts',
    may: ['@kubernetes/client-node', 'undici'],
    mayNot: ['pino', '../pino/logger.ts'],
  },
  { file: 'shared/adapters/embedded/client.ts', may: ['undici'], mayNot: ['@kubernetes/client-node'] },
  { file: 'shared/adapters/memory/store.ts', may: ['../../ports/clock.ts'], mayNot: ['undici', 'zod'] },
  { file: 'shared/adapters/another/vendor.ts', may: ['../../ports/clock.ts'], mayNot: ['zod'] },
  {
    file: 'shared/roots/backends.ts',
    may: ['../adapters/memory/store.ts', '../ports/clock.ts', '../queue/work-queue.ts'],
    mayNot: ['../../functions/config.ts', '../../infra/local/part.ts', 'undici', '@google-cloud/pubsub'],
  },
  {
    file: 'shared/index.ts',
    may: ['./reconcile/run.ts', './ports/clock.ts', './kube/kind.ts'],
    mayNot: [
      './adapters/memory/store.ts',
      './roots/backends.ts',
      '../functions/config.ts',
      '../infra/local/part.ts',
      'zod',
    ],
  },
  {
    file: 'functions/controllers/app/controller.ts',
    may: ['../../../shared/kube/kind.ts', '../../../shared/crd/render.ts', './kind.ts', 'zod'],
    mayNot: [
      '../../../shared/ports/clock.ts',
      '../../../shared/adapters/memory/store.ts',
      '../../../shared/reconcile/run.ts',
      '../../config.ts',
      'undici',
    ],
  },
  {
    file: 'functions/start.ts',
    may: ['@google-cloud/functions-framework', '../shared/adapters/memory/store.ts', './config.ts'],
    mayNot: ['../infra/local/part.ts'],
  },
  {
    file: 'infra/local/stack.ts',
    may: ['../../functions/controllers/app/kind.ts', '../../shared/adapters/memory/store.ts', './part.ts', 'undici'],
    mayNot: ['../../functions/config.ts', '@google-cloud/functions-framework'],
  },
];

/** Files that others import, and that import nothing. */
const LEAVES = [
  'shared/kube/kind.ts',
  'shared/queue/backoff.ts',
  'shared/ports/clock.ts',
  'shared/adapters/pino/logger.ts',
  'functions/config.ts',
  'functions/controllers/app/kind.ts',
  'infra/local/part.ts',
];

describe('the gate: knowledge flows one way', () => {
  let findings: readonly Finding[] = [];
  before(async () => {
    findings = await lint({
      ...Object.fromEntries(LEAVES.map((file) => [file, 'export const value = 1;\n'])),
      ...Object.fromEntries(LAYERS.map(({ file, may, mayNot }) => [file, importing([...may, ...mayNot])])),
      'shared/kube/builtin.ts': "import type { V1Pod } from '@kubernetes/client-node';\n\nexport type Pod = V1Pod;\n",
      'shared/ports/store.ts':
        "import type { value } from '../queue/backoff.ts';\n\nexport type Value = typeof value;\n",
      'shared/ports/broker.ts': "import { value } from '../queue/backoff.ts';\n\nexport const copy = value;\n",
      'shared/ports/cluster.ts':
        "import type { value } from '../queue/work-queue.ts';\n\nexport type V = typeof value;\n",
      'shared/queue/sneaky.ts': [
        "export const load = () => import('../adapters/memory/store.ts');",
        "export type Store = import('../adapters/memory/store.ts').Store;",
        "export { value } from '../ports/clock.ts';",
        "export type { value as Value } from '../ports/clock.ts';",
        '',
      ].join('\n'),
    });
  });

  for (const { file, may, mayNot } of LAYERS) {
    it(`lets ${file} import ${may.join(', ') || 'nothing'}; refuses ${mayNot.join(', ')}`, () => {
      assert.deepEqual(
        linesOf(file),
        mayNot.map((_, index) => may.length + index + 1),
      );
    });
  }

  it('lets the models of Kubernetes into the vocabulary as types only', () => {
    assert.deepEqual(linesOf('shared/kube/builtin.ts'), []);
  });

  it('lets a port know types of rules, no values and no pipelines', () => {
    assert.deepEqual(linesOf('shared/ports/store.ts'), []);
    assert.deepEqual(
      findings.filter(({ file }) => file === 'shared/ports/broker.ts').map(({ message }) => message),
      ['Only types may be imported here: write `import type`.'],
    );
    assert.deepEqual(linesOf('shared/ports/cluster.ts'), [1]);
  });

  it('sees dynamic imports, types of modules and exports of others', () => {
    assert.deepEqual(linesOf('shared/queue/sneaky.ts'), [1, 2, 3, 4]);
  });

  it('lists pipelines that exist, in both lines the same', () => {
    const text = readFileSync(join(ROOT, '.biome/layers.grit'), 'utf8');
    const [, folders = ''] = /shared\/\(\?:((?:\w+\/\(\?:[a-z|-]+\)\|?)+)\)/.exec(text) ?? [];
    const files = [...folders.matchAll(/(\w+)\/\(\?:([a-z|-]+)\)/g)].flatMap(([, folder = '', names = '']) =>
      names.split('|').map((name) => ({ folder, name })),
    );
    const [, refused = ''] = /r"\.\*\/\(\?:([a-z|-]+)\)\\\.ts\.\*"/.exec(text) ?? [];
    assert.deepEqual(
      files.map(({ name }) => name),
      refused.split('|'),
    );
    for (const { folder, name } of files) assert(existsSync(join(ROOT, 'shared', folder, `${name}.ts`)), name);
  });

  function linesOf(file: string): readonly number[] {
    return findings
      .filter((finding) => finding.file === file && finding.message.startsWith('Layers: '))
      .map(({ line }) => line);
  }
});

/** One import on each line. */
function importing(specifiers: readonly string[]): string {
  const lines = specifiers.map((specifier, index) => `import * as m${index} from '${specifier}';`);
  return [...lines, `export const value = [${specifiers.map((_, index) => `m${index}`).join(', ')}];`, ''].join('\n');
}
