import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

import { knownAgents, TOPICS, trials, trialsOf } from '../../../src/agent/acp/known-agents.ts';
import { isJsonObject } from '../../../src/json.ts';

const root = join(import.meta.dirname, '../../..');

/** The table of docs/agents.md. */
function table(): string {
  const rows = trials.map((trial) => [
    trial.title,
    trial.version,
    trial.date,
    ...(trial.note === undefined
      ? TOPICS.map((topic) => `${trial[topic].says}${trial[topic].isTested ? ' ✓' : ''}`)
      : [trial.note, ...TOPICS.slice(1).map(() => '')]),
  ]);
  const untried = knownAgents.filter(({ name }) => trialsOf(name).length === 0).map(({ title }) => title);
  const head = ['agent', 'version', 'tried on', ...TOPICS.map((topic) => (topic === 'mcp' ? "uwf's tools" : topic))];
  const lines = [head, head.map(() => '---'), ...rows, [untried.join(', '), '', 'not tried', ...TOPICS.map(() => '')]];
  return lines.map((cells) => `| ${cells.join(' | ')} |`.replaceAll(/ {2,}\|/g, ' |')).join('\n');
}

// `npx vitest run test/agent/acp/tried-agents.test.ts --update` writes it anew.
test('docs/agents.md has the trials as a table', async () => {
  const markdown = readFileSync(join(root, 'docs/agents.md'), 'utf8');
  const begin = '<!-- trials -->\n';
  const [start, end] = [markdown.indexOf(begin) + begin.length, markdown.indexOf('\n<!-- end of trials -->')];
  expect(start).toBeGreaterThan(begin.length);
  const written = `${markdown.slice(0, start)}${table()}${markdown.slice(end)}`;
  await expect(written).toMatchFileSnapshot(join(root, 'docs/agents.md'));
});

test('every trial is of a known agent, and the newest version of each stands first', () => {
  const names = knownAgents.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(trials.map(({ agent }) => agent)));
  for (const name of names) {
    const versions = trialsOf(name).map(({ version }) => version.split('.').map(Number));
    const sorted = versions.toSorted(
      (a, b) => a.map((part, index) => (b[index] ?? 0) - part).find((part) => part !== 0) ?? 0,
    );
    expect(versions).toEqual(sorted);
  }
});

test('what is said to be tested is so with the version that the tests of agents install', () => {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'test/agents/package.json'), 'utf8')) as {
    dependencies: Record<string, string>;
  };
  const installed = Object.values(dependencies).map((version) => version.replace(/^.*@/, ''));
  const tested = trials.filter((trial) => TOPICS.some((topic) => trial[topic].isTested)).map(({ version }) => version);
  expect(tested.toSorted()).toEqual(installed.toSorted());
});

test('each finding says something', () => {
  for (const trial of trials) {
    for (const topic of TOPICS) expect(isJsonObject(trial[topic]) && trial[topic].says).toMatch(/\S/);
  }
});
