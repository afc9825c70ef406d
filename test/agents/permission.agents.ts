import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import type { JsonObject } from '../../src/json.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { agentNames, agentUnderTest } from './agents-under-test.ts';
import type { Conversation, Move } from './conversation.ts';
import { startModelServer } from './model-server.ts';
import { runUwf } from './run-uwf.ts';

const workflow = {
  name: 'once',
  description: 'one turn',
  roles: {
    worker: {
      description: 'works',
      systemPrompt: 'You work.',
      schema: { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'] },
    },
  },
  moderator: [
    { from: '__start__', to: 'worker', when: null },
    { from: 'worker', to: '__end__', when: null },
  ],
};
const command = 'printf evil > made.txt && echo ran';

/** A model that runs a command, which it describes as something else, and then reports by uwf's tool. */
function nextMove({ results, tools }: Conversation): Move {
  const find = (pattern: RegExp): string => tools.find((tool) => pattern.test(tool)) ?? '';
  if (tools.length === 0) return { text: 'A title' };
  if (!results.some((result) => result.includes('ran') || /rejected|denied|cancel/iu.test(result))) {
    return { tool: find(/^(?:bash|run_shell_command)$/u), arguments: { command, description: 'List files' } };
  }
  if (results.length < 2) return { tool: find(/(?:^|_)thread_list$/u), arguments: {} };
  if (results.length < 3) return { tool: find(/(?:^|_)report_result$/u), arguments: { words: 3 } };
  return { text: 'Done.' };
}

describe.each(agentNames)('%s', (name) => {
  test('asks with the command, goes on when that is answered, and uses uwf’s tools without a question', async () => {
    const repository = createTemporaryRepository();
    const home = createTemporaryFolder();
    const server = await startModelServer((conversation) => nextMove(conversation));
    onTestFinished(() => server.close());
    const { config } = agentUnderTest(name, server.url, home);
    repository.git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
    mkdirSync(join(repository.dir, '.uwf'));
    const agents = { coding: { package: 'builtin:acp', config } };
    writeFileSync(join(repository.dir, '.uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'coding' }));
    writeFileSync(join(repository.dir, 'once.yaml'), JSON.stringify(workflow));
    const uwf = async (...args: string[]): Promise<{ last: JsonObject; stderr: string }> => {
      const { lines, stderr } = await runUwf(repository.dir, home, [...args, '--json']);
      return { last: lines.at(-1) ?? {}, stderr };
    };

    const { last, stderr } = await uwf('run', 'once.yaml', '-p', 'Work.');
    expect(last, stderr).toMatchObject({ event: 'thread.suspended' });
    expect(last['text']).toContain(command);
    expect(existsSync(join(repository.dir, 'made.txt'))).toBe(false);
    const thread = last['thread'] as string; // as every event names it
    const shown = await uwf('thread', 'show', thread);
    expect(shown.last['suspension']).toMatchObject({ cause: 'permission', reason: expect.stringContaining(command) });

    const ended = await uwf('thread', 'resume', thread, '-p', 'yes');
    expect(ended.last, JSON.stringify([ended.last, ended.stderr, server.conversations.at(-1)])).toMatchObject({
      event: 'thread.ended',
      returnCode: 0,
    });
    expect(existsSync(join(repository.dir, 'made.txt'))).toBe(true);
  });
});
