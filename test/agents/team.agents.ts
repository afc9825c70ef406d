import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import { createTemporaryFolder, createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import { agentUnderTest } from './agents-under-test.ts';
import type { Conversation, Move } from './conversation.ts';
import { findRole } from './develop-roles.ts';
import { startModelServer } from './model-server.ts';
import { runUwf } from './run-uwf.ts';

const writer = {
  description: 'writes a file',
  schema: { type: 'object', properties: { $status: { const: 'written' } }, required: ['$status'] },
};

/** Each branch is done by an agent of its own, in a work tree of its own. */
const workflow = {
  name: 'team',
  isolation: 'worktree',
  roles: { first: writer, second: writer },
  blocks: {
    both: {
      isolation: 'worktree',
      branches: { first: { role: 'first' }, second: { role: 'second' } },
      merge: { order: 'key' },
      join: 'all',
    },
  },
  moderator: [
    { from: '__start__', to: 'both', when: null },
    { from: 'both', to: '__end__', when: null },
  ],
};

/** A model that writes a file with its role's name, and then reports that. */
function nextMove({ prompts, results, tools }: Conversation): Move {
  const role = findRole(prompts)?.role;
  const shell = tools.find((tool) => /^(?:bash|run_shell_command)$/iu.test(tool));
  // Titles and the like, which an agent asks for itself.
  if (role === undefined || shell === undefined) return { text: 'A title' };
  if (results.length > 0) return { text: `---\n$status: written\n---\n${role}.txt is written.\n` };
  return { tool: shell, arguments: { command: `echo ${role} > ${role}.txt`, description: 'Write' } };
}

test('two agents run the branches of a block at once, and their files are merged', async () => {
  const repository = createTemporaryRepository();
  const home = createTemporaryFolder();
  const server = await startModelServer(nextMove);
  onTestFinished(() => server.close());
  const agentOf = (name: 'opencode' | 'claude') => ({
    package: 'builtin:acp',
    config: { ...agentUnderTest(name, server.url, home).config, permissions: 'allow' },
  });
  repository.git('config', 'user.name', 'A U Thor');
  repository.git('config', 'user.email', 'author@example.com');
  repository.git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
  mkdirSync(join(repository.dir, '.uwf'));
  const agents = { opencode: agentOf('opencode'), claude: agentOf('claude') };
  const config = { agents, roles: { 'team.first': 'opencode', 'team.second': 'claude' } };
  writeFileSync(join(repository.dir, '.uwf/config.yaml'), JSON.stringify(config));
  writeFileSync(join(repository.dir, 'team.yaml'), JSON.stringify(workflow));

  const { lines, stderr } = await runUwf(repository.dir, home, ['run', 'team.yaml', '-p', 'Write.', '--json']);
  expect(lines.at(-1), JSON.stringify([lines.slice(-2), stderr])).toMatchObject({
    event: 'thread.ended',
    returnCode: 0,
  });
  const keys = lines.flatMap(({ event, branch }) => (event === 'thread.started' && branch ? [branch] : []));
  expect(keys).toHaveLength(2);
  // Both had begun before one was done.
  const turns = lines.filter(({ role }) => role === 'first' || role === 'second');
  const marks = turns.flatMap(({ event }) => (event === 'step.started' || event === 'step.finished' ? [event] : []));
  expect(marks).toEqual(['step.started', 'step.started', 'step.finished', 'step.finished']);
  const joined = lines.find(({ event, role }) => event === 'step.finished' && role === 'both');
  expect(joined).toMatchObject({ outcome: 'joined' });

  const thread = lines.at(-1)?.['thread'] as string; // as every event names it
  const merged = await runUwf(repository.dir, home, ['thread', 'merge', thread, '--json']);
  expect(merged.code, merged.stderr).toBe(0);
  expect(repository.git('show', 'HEAD:first.txt', 'HEAD:second.txt')).toBe('first\nsecond');
  expectCleanFsck(repository.dir);
  expect(server.strays).toEqual([]);
});
