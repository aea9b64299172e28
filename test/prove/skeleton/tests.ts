import { Command } from '../../support/command.ts';
import type { Claim } from '../claim.ts';

export function testsClaim(): Claim {
  return {
    id: 'tests',
    text: 'Unit tests, contract suites (in memory and on real parts), integration under functions-framework, and end to end pass; none is skipped',
    floor: '0 failed, 0 skipped',
    async run({ say }) {
      const tests = new Command('npm', ['test', '--', '--require-all']);
      const code = await tests.ended;
      const summary = tests.output.trimEnd().split('\n').at(-1) ?? '';
      tests.forget();
      for (const line of tests.output.split('\n')) if (/^\s*✖ /.test(line)) say(line.trim());
      say(summary);
      return { measured: summary, ok: code === 0 && / 0 failed, 0 skipped$/.test(summary) };
    },
  };
}
