import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

import { packageDescriptor } from '../../../src/agent/acp/acp-agent.ts';
import { findKnownAgents, isConfigured, knownAgents, warnOfMode } from '../../../src/agent/acp/known-agents.ts';
import { checkValue } from '../../../src/agent/extract/extract-reply.ts';
import type { JsonObject } from '../../../src/json.ts';
import { temporaryFolder } from '../../helpers/agent-request.ts';

const programs = ['claude', 'codex', 'gemini', 'opencode', 'goose', 'cursor-agent', 'copilot', 'qwen', 'kimi'];

function folderWith(...names: string[]): string {
  const folder = temporaryFolder();
  for (const name of names) {
    writeFileSync(join(folder, name), '#!/bin/sh\n');
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

test('agents whose program is on the PATH are found, each with a line that the configuration takes', async () => {
  const found = findKnownAgents({ PATH: `/nowhere::${folderWith(...programs)}` });
  expect(found).toHaveLength(programs.length);
  for (const { name, line, config } of found) {
    expect(parse(line)).toEqual({ [name]: { package: 'builtin:acp', config } });
    expect(await checkValue(packageDescriptor.configSchema, config, name)).toEqual([]);
  }
});

test('what only bears the name is not found', () => {
  const folder = folderWith('opencode');
  chmodSync(join(folder, 'opencode'), 0o644);
  mkdirSync(join(folder, 'goose'));
  expect(findKnownAgents({ PATH: folder })).toEqual([]);
  expect(findKnownAgents({})).toEqual([]);
});

test('a bridge that is installed is preferred to one that has to be fetched', () => {
  const [found] = findKnownAgents({ PATH: folderWith('claude', 'claude-agent-acp') });
  expect(found?.config).toEqual({ command: ['claude-agent-acp'], mode: 'default' });
});

test('a key in the environment is passed on by name, and its value is nowhere', () => {
  const [found] = findKnownAgents({ PATH: folderWith('gemini'), GEMINI_API_KEY: 'secret' });
  expect(found?.config).toMatchObject({ passEnv: ['GEMINI_API_KEY'] });
  expect(JSON.stringify(found)).not.toContain('secret');
});

test.each<[JsonObject['command'], boolean]>([
  [['opencode', 'acp'], true],
  [['/usr/local/bin/opencode', 'acp'], true],
  [['goose', 'acp'], false],
])('with %j opencode is configured: %s', (command, expected) => {
  const [found] = findKnownAgents({ PATH: folderWith('opencode') });
  expect(found && isConfigured(found, [{ package: 'builtin:acp', config: { command: command ?? [] } }])).toBe(expected);
});

test('a bridge is known with a version, too', () => {
  const [found] = findKnownAgents({ PATH: folderWith('codex') });
  const config = { command: ['npx', '@agentclientprotocol/codex-acp@2'] };
  expect(found && isConfigured(found, [{ package: 'builtin:acp', config }])).toBe(true);
  expect(found && isConfigured(found, [{ package: 'builtin:command', config: { argv: ['codex'] } }])).toBe(false);
});

test.each([
  ['claude-agent-acp', {}, 'mode: default'],
  ['codex-acp', {}, 'mode: workspace-write'],
  ['qwen', {}, 'mode: default'],
  ['qwen', { mode: 'yolo' }, undefined],
  ['opencode', {}, undefined],
])('whose questions a model may answer is told of %s with %j: %s', (program, config, remedy) => {
  const warning = warnOfMode({ name: 'mine', package: 'builtin:acp', config: { command: [program], ...config } });
  if (remedy === undefined) expect(warning).toBeUndefined();
  else
    expect(warning).toMatchObject({
      message: expect.stringContaining("agent 'mine'"),
      hint: expect.stringContaining(`add ${remedy} `),
    });
});

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
