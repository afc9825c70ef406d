import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import { isJsonObject } from '../../src/json.ts';
import type { JsonObject } from '../../src/json.ts';
import { createTemporaryFolder, createTemporaryRepository, expectCleanFsck } from '../helpers/temporary-repository.ts';
import type { TemporaryRepository } from '../helpers/temporary-repository.ts';
import { agentNames, agentUnderTest } from './agents-under-test.ts';
import { nextMove } from './develop-roles.ts';
import { startModelServer } from './model-server.ts';
import { runUwf } from './run-uwf.ts';

const workflow = join(import.meta.dirname, '../../fixtures/workflows/develop.yaml');

/** The reviewer sends the work back once, the tester once; each knows from its session that it was asked before. */
const story = [
  'planner planned',
  'coder done',
  'coder done',
  'reviewer rejected',
  'coder done',
  'reviewer approved',
  'tester failed',
  'coder done',
  'reviewer approved',
  'tester passed',
  'committer committed',
];

/** What `uwf step list --json` says of a step. */
type ListedStep = { step: string; role: string; status: string };

describe.each(agentNames)('%s', (name) => {
  test('runs all of develop over ACP, against a server of models on the loopback address', async () => {
    const repository = createTemporaryRepository();
    const home = createTemporaryFolder();
    const server = await startModelServer((conversation) => nextMove(conversation, repository.dir));
    onTestFinished(() => server.close());
    const { version, config, keepsSessions } = agentUnderTest(name, server.url, home);
    prepare(repository, { ...config, permissions: 'allow' });

    const run = await runUwf(repository.dir, home, ['run', workflow, '-p', 'Greet everybody', '--json']);
    const said = JSON.stringify([run.lines.slice(-2), run.stderr, server.conversations.at(-1)?.results], undefined, 1);
    expect(run.lines.at(-1), said).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(run.code).toBe(0);
    const thread = run.lines.at(-1)?.['thread'] as string; // as every event names it

    const listed = await runUwf(repository.dir, home, ['step', 'list', thread, '--json']);
    const [steps = []] = listed.lines as unknown as ListedStep[][]; // one line, a list
    expect(steps.map(({ role, status }) => `${role} ${status}`)).toEqual(story);
    for (const { step } of steps) {
      const [trace] = (await runUwf(repository.dir, home, ['step', 'turns', step, '--json'])).lines;
      expect(trace).toMatchObject({ agentVersion: version, stopReason: 'end_turn' });
      expect(toolCallsOf(trace), `tool calls of ${JSON.stringify(trace)}`).not.toEqual([]);
    }

    if (keepsSessions) {
      const visits = server.conversations.map(({ prompts }) =>
        prompts.filter((prompt) => prompt.includes('# You are coder')),
      );
      expect(Math.max(...visits.map(({ length }) => length))).toBe(4);
    }

    // What the roles have done is there, in the commit that the last of them reported.
    expect(repository.git('log', '-1', '--format=%s')).toBe('Greet everybody');
    const files = [1, 2, 3, 4].map((visit) => `greeting-${visit}.txt`);
    expect(repository.git('ls-files').split('\n')).toEqual(expect.arrayContaining(files));
    expectCleanFsck(repository.dir);
    // Nobody else was asked for anything, no key was passed on, and nothing goes on running.
    expect(server.strays).toEqual([]);
    expect(JSON.stringify(server.conversations)).not.toContain('ghp_of_nobody');
    expect(processesOf(home)).toEqual([]);
  });
});

function prepare(repository: TemporaryRepository, config: JsonObject): void {
  repository.git('config', 'user.name', 'A U Thor');
  repository.git('config', 'user.email', 'author@example.com');
  writeFileSync(join(repository.dir, 'README.md'), '# Greetings\n');
  repository.git('add', '.');
  repository.git('commit', '--quiet', '-m', 'Begin');
  mkdirSync(join(repository.dir, '.uwf'));
  const agents = { coding: { package: 'builtin:acp', config } };
  // JSON is YAML. Should a session be lost, its roles know nothing of earlier visits, and would go on for ever.
  const written = { agents, defaultAgent: 'coding', limits: { maxSteps: 15, idleTimeoutMs: 120_000 } };
  writeFileSync(join(repository.dir, '.uwf', 'config.yaml'), JSON.stringify(written));
  writeFileSync(join(repository.dir, '.git', 'info', 'exclude'), '.uwf/\n');
}

function toolCallsOf(trace: JsonObject | undefined): unknown[] {
  const turns = Array.isArray(trace?.['turns']) ? trace['turns'] : [];
  return turns.flatMap((turn) => (isJsonObject(turn) && Array.isArray(turn['toolCalls']) ? turn['toolCalls'] : []));
}

/** The processes that have a folder for their home, by their command lines. */
function processesOf(home: string): string[] {
  return readdirSync('/proc').flatMap((pid) => {
    if (!/^\d+$/u.test(pid)) return [];
    try {
      const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
      return environment.includes(`HOME=${home}`) ? [readFileSync(`/proc/${pid}/cmdline`, 'utf8')] : [];
    } catch {
      return []; // ended since it was listed
    }
  });
}
