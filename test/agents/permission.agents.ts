import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import type { JsonObject } from '../../src/json.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { agentNames, agentUnderTest } from './agents-under-test.ts';
import type { AgentName } from './agents-under-test.ts';
import { callOwnTool } from './call-tool.ts';
import type { Conversation, Move } from './conversation.ts';
import { startModelServer } from './model-server.ts';
import { onceWorkflow } from './once-workflow.ts';
import { runUwf, uwfAsSpawned } from './run-uwf.ts';

/**
 * Creates a model that runs commands, and then reports its result with uwf's tool. It describes each command as a listing of
 * files. It runs no command twice: a refusal ends the turn of some agents, and others give it to the model as a result.
 * @param commands each command that the model runs is removed
 * @param prompts gets all prompts of the newest request that has tools
 */
function createModel(commands: string[], prompts: string[]): (conversation: Conversation) => Move {
  let reads = 0;
  return ({ tools, prompts: asked }) => {
    if (tools.length === 0) return { text: 'A title' };
    prompts.splice(0, Infinity, ...asked);
    const command = commands.shift();
    if (command !== undefined) {
      const shell = tools.find((tool) => /^(?:bash|run_shell_command)$/iu.test(tool)) ?? 'none';
      return { tool: shell, arguments: { command, description: 'List files' } };
    }
    const move =
      reads === 0
        ? callOwnTool(tools, 'thread_list', {})
        : reads === 1
          ? callOwnTool(tools, 'report_result', { words: 3 })
          : { text: 'Done.' };
    if (!('tool' in move) || move.tool !== 'ToolSearch') reads += 1;
    return move;
  };
}

/** A repository with two folders, and an agent whose model removes them. */
type Story = {
  /** Runs uwf with `--json`. */
  json(...args: string[]): Promise<{ last: JsonObject; all: string }>;
  /** Runs uwf at a terminal; each question is answered by the next of some keys. */
  atTerminal(keys: string, ...args: string[]): Promise<string>;
  /** The commands that the model runs next. */
  script(...commands: string[]): void;
  /** All prompts that the model was last given. */
  prompts(): string;
  has(folder: string): boolean;
};

async function startStory(name: AgentName): Promise<Story> {
  const { dir, git } = createTemporaryRepository();
  const home = createTemporaryFolder();
  const commands: string[] = [];
  const prompts: string[] = [];
  const server = await startModelServer(createModel(commands, prompts));
  onTestFinished(() => server.close());
  const { config } = agentUnderTest(name, server.url, home);
  git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
  for (const folder of ['.uwf', 'build', 'dist']) mkdirSync(join(dir, folder));
  const agents = { coding: { package: 'builtin:acp', config } };
  writeFileSync(join(dir, '.uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'coding' }));
  writeFileSync(join(dir, 'once.yaml'), JSON.stringify(onceWorkflow));
  return {
    json: async (...args) => {
      const { lines, stderr } = await runUwf(dir, home, [...args, '--json']);
      return { last: lines.at(-1) ?? {}, all: `${JSON.stringify(lines)}${stderr}` };
    },
    atTerminal: (keys, ...args) => atTerminal(dir, home, keys, args),
    script: (...next) => void commands.splice(0, Infinity, ...next),
    prompts: () => prompts.join('\n'),
    has: (folder) => existsSync(join(dir, folder)),
  };
}

/** Runs uwf at a terminal, where each question is answered by the next of some keys; gives what the terminal showed. */
async function atTerminal(dir: string, home: string, keys: string, args: readonly string[]): Promise<string> {
  const { argv, env } = uwfAsSpawned(home, args);
  const line = argv.map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qfec', line, '/dev/null'], {
    cwd: dir,
    env: { ...env, TERM: 'xterm', PAGER: 'cat' },
  });
  let shown = '';
  let answered = 0;
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    shown += chunk;
    const asked = shown.split('[n]o').length - 1;
    for (; answered < asked; answered += 1) child.stdin.write(keys[answered] ?? 'n');
  });
  await new Promise((resolve) => child.once('exit', resolve));
  return shown;
}

describe.each(agentNames)('%s', (name) => {
  // The Gemini CLI tells its client no arguments, only a title that it makes of the command itself.
  const wants = (command: string): string =>
    name === 'gemini' ? `do what it only calls "${command}" (execute)` : `run ${command} (execute)`;
  const { goesOnAfterNo } = agentUnderTest(name, '', '');
  const afterNo = `worker stopped without a reply after a person denied this: ${wants('rm -rf build')}; how is it to go on?`;

  const then = goesOnAfterNo ? 'goes on to its next command' : 'is suspended, and goes on when told how';

  test(`suspends with the command, whatever it is called; after a no it ${then}`, async () => {
    const story = await startStory(name);
    story.script('rm -rf build');
    const { last, all } = await story.json('run', 'once.yaml', '-p', 'Work.');
    expect(last, all).toMatchObject({ event: 'thread.suspended', cause: 'permission' });
    expect(last['text']).toContain(`worker asks for a permission: ${wants('rm -rf build')}`);
    const thread = last['thread'] as string; // as every event names it
    const { last: shown } = await story.json('thread', 'show', thread);
    const reason = expect.stringContaining(wants('rm -rf build')) as string;
    expect(shown['suspension']).toMatchObject({ cause: 'permission', reason });
    expect(await story.atTerminal('', 'thread', 'show', thread)).toContain('rm -rf build');
    expect(await story.atTerminal('', 'thread', 'read', thread)).toContain('rm -rf build');

    story.script('rm -rf build', 'rm -rf dist');
    let next = await story.json('thread', 'resume', thread, '-p', 'no');
    if (!goesOnAfterNo) {
      expect(next.last, next.all).toMatchObject({ event: 'thread.suspended', cause: 'agent', text: afterNo });
      next = await story.json('thread', 'resume', thread, '-p', 'Remove dist instead.');
      expect(story.prompts()).toContain('Remove dist instead.');
    }
    // Another command is another question.
    expect(next.last, next.all).toMatchObject({ event: 'thread.suspended', cause: 'permission' });
    expect(next.last['text']).toContain(wants('rm -rf dist'));
    expect([story.has('build'), story.has('dist')]).toEqual([true, true]);

    story.script('rm -rf dist');
    const ended = await story.json('thread', 'resume', thread, '-p', 'yes');
    expect(ended.last, ended.all).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect([story.has('build'), story.has('dist')]).toEqual([true, false]);
  });

  test('asks at a terminal with the command; one key answers, and uwf’s tools ask nothing', async () => {
    const story = await startStory(name);
    story.script('rm -rf build', 'rm -rf dist');
    let shown = await story.atTerminal('ny', 'run', 'once.yaml', '-p', 'Work.');
    if (!goesOnAfterNo) {
      expect(shown).toContain(afterNo);
      const [, thread = ''] = /uwf thread resume (\w+) -p <answer>/u.exec(shown) ?? [];
      shown += await story.atTerminal('y', 'thread', 'resume', thread, '-p', 'Remove dist instead.');
    }
    const questions = shown.split('worker wants to: ').slice(1);
    expect(questions, shown).toHaveLength(2);
    expect(questions.map((question) => question.split('\r\n')[0])).toEqual(['rm -rf build', 'rm -rf dist'].map(wants));
    expect([story.has('build'), story.has('dist')], shown).toEqual([true, false]);
  });
});
