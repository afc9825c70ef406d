import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { knownAgents } from '../../../src/agent/acp/known-agents.ts';

const root = join(import.meta.dirname, '../../..');

/** The rows of the table of trials in docs/agents.md: their cells. */
function trials(): string[][] {
  const markdown = readFileSync(join(root, 'docs/agents.md'), 'utf8');
  const [, table = ''] = /<!-- trials -->\n([^]*?)\n<!-- end of trials -->/.exec(markdown) ?? [];
  return table
    .split('\n')
    .slice(2)
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .map((cells) => cells.slice(1, -1));
}

test('what is said to be tested is so with the version that the tests of agents install', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'test/agents/package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const installed = Object.values(dependencies).map((version) => version.replace(/^.*@/, ''));
  const tested = trials().filter((cells) => cells.some((cell) => cell.includes('✓')));
  expect(tested.map(([, version = '']) => version).toSorted()).toEqual(installed.toSorted());
});

test('an agent that reports no tokens or no cost is known to be silent of it, by the newest version', () => {
  for (const { title, silentOf } of knownAgents) {
    const [, , , , , tokens, cost] = trials().find(([name]) => name?.replace(', bridge', '') === title) ?? [];
    expect([title, tokens === 'no', cost?.replace(' ✓', '') === 'no']).toEqual([
      title,
      silentOf.includes('tokens'),
      silentOf.includes('cost'),
    ]);
  }
});
