import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

import type { JsonObject } from '../../src/json.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { agentUnderTest } from './agents-under-test.ts';
import type { Conversation, Move, Tokens } from './conversation.ts';
import { startModelServer } from './model-server.ts';
import { onceWorkflow } from './once-workflow.ts';
import { runUwf } from './run-uwf.ts';

/** Three visits of one role, whose session each is continued by a process of its own. */
const workflow = {
  name: 'thrice',
  description: 'three visits',
  roles: onceWorkflow.roles,
  moderator: [
    { from: '__start__', to: 'worker', when: null },
    { from: 'worker', to: '__end__', when: '$count($steps) = 3' },
    { from: 'worker', to: 'worker', when: null },
  ],
};

/** Dollars for a million tokens: opencode is told so, and Claude's bridge takes these for its model. */
const price = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

function costOf({ input, output, cacheRead, cacheWrite }: Tokens): number {
  const plain = (input - cacheRead - cacheWrite) * price.input;
  const cached = cacheRead * price.cacheRead + cacheWrite * price.cacheWrite;
  return (plain + cached + output * price.output) / 1_000_000;
}

const nothing: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

function plus(a: Tokens, b: Tokens): Tokens {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  };
}

/** A model that lists the folder in each visit, where it is to use a tool at all, and counts what it says there. */
function createModel(
  usesTools: boolean,
  writesCaches: boolean,
): { think(asked: Conversation): Move; visits: Tokens[] } {
  const visits: Tokens[] = [];
  const answers = new Map<string, Move>();
  let requests = 0;
  return {
    visits,
    think({ prompts, results, tools }) {
      const visit = prompts.filter((prompt) => prompt.includes('# You are worker')).length;
      const shell = tools.find((tool) => /^(?:bash|run_shell_command)$/iu.test(tool));
      const isAsked = prompts.at(-1)?.includes('# You are worker') === true && shell !== undefined;
      // Titles, suggestions and the like, which an agent asks for itself and counts or not.
      if (!isAsked) return { text: 'A title', tokens: nothing };
      const key = `${visit} ${results.length}`;
      const before = answers.get(key);
      if (before) return { ...before, tokens: nothing };
      requests += 1;
      const tokens = {
        input: 1000 * requests,
        output: 10 * requests + 1,
        cacheRead: 300 * requests,
        cacheWrite: writesCaches ? 50 * requests : 0,
      };
      visits[visit - 1] = plus(visits[visit - 1] ?? nothing, tokens);
      const isTool = usesTools && results.length === 0;
      const move: Move = isTool
        ? { tool: shell, arguments: { command: 'ls', description: 'List' } }
        : { text: `---\nwords: ${visit}\n---\nDone.\n` };
      answers.set(key, move);
      return { ...move, tokens };
    },
  };
}

const trials = [
  { name: 'opencode', usesTools: false, writesCaches: false, tellsCost: true },
  { name: 'opencode', usesTools: true, writesCaches: false, tellsCost: true },
  { name: 'claude-0.49', usesTools: true, writesCaches: true, tellsCost: true },
  { name: 'claude', usesTools: true, writesCaches: true, tellsCost: true },
  { name: 'qwen', usesTools: true, writesCaches: false, tellsCost: false },
] as const;

test.each(trials)('$name counts three visits as they were paid (tools: $usesTools)', async (trial) => {
  const { name, usesTools, writesCaches, tellsCost } = trial;
  const repository = createTemporaryRepository();
  const home = createTemporaryFolder();
  const model = createModel(usesTools, writesCaches);
  const server = await startModelServer((asked) => model.think(asked));
  onTestFinished(() => server.close());
  const { config } = agentUnderTest(name, server.url, home);
  repository.git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
  mkdirSync(join(repository.dir, '.uwf'));
  const agents = { coding: { package: 'builtin:acp', config: { ...config, permissions: 'allow' } } };
  writeFileSync(join(repository.dir, '.uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'coding' }));
  writeFileSync(join(repository.dir, 'thrice.yaml'), JSON.stringify(workflow));
  const uwf = async (...args: string[]): Promise<{ lines: JsonObject[]; stderr: string }> =>
    runUwf(repository.dir, home, [...args, '--json']);

  const { lines, stderr } = await uwf('run', 'thrice.yaml', '-p', 'Work.');
  expect(lines.at(-1), stderr).toMatchObject({ event: 'thread.ended', returnCode: 0 });
  const thread = lines.at(-1)?.['thread'] as string; // as every event names it
  const steps = lines.filter(({ event }) => event === 'step.finished');
  // opencode tells the tokens of its last request alone, and then says so.
  const isPart = name === 'opencode' && usesTools;
  expect(steps).toHaveLength(3);
  expect(model.visits).toHaveLength(3);
  const usages = steps.map(({ usage }) => usage as Record<string, number | boolean>); // as the help says
  for (const [index, paid] of model.visits.entries()) {
    const usage = usages[index] ?? {};
    if (tellsCost) expect(usage['costUsd']).toBeCloseTo(costOf(paid), 9);
    else expect(usage).not.toHaveProperty('costUsd');
    expect(usage['isAtLeast'] ?? false).toBe(isPart);
    if (isPart) expect(usage['inputTokens']).toBeLessThan(paid.input);
    else {
      expect(usage).toMatchObject({
        inputTokens: paid.input,
        outputTokens: paid.output,
        cacheReadTokens: paid.cacheRead,
      });
      expect(usage['cacheWriteTokens'] ?? 0).toBe(paid.cacheWrite);
    }
  }
  const paid = model.visits.reduce(plus);
  const shown = await uwf('thread', 'show', thread);
  const total = shown.lines.at(-1)?.['usage'] as Record<string, number>; // as the help says
  if (!isPart) expect(total).toMatchObject({ inputTokens: paid.input, cacheReadTokens: paid.cacheRead });
  if (tellsCost) expect(total['costUsd']).toBeCloseTo(costOf(paid), 9);
});
