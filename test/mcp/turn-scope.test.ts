import { resolve } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { beforeAll, describe, expect, test } from 'vitest';

import type { JsonObject } from '../../src/json.ts';
import { createLoopRepository } from '../helpers/cli.ts';
import type { CliRepository } from '../helpers/cli.ts';
import { isolatedGitEnvironment } from '../helpers/temporary-repository.ts';

const schema = 'schema: { type: object, properties: { $status: { const: done } }, required: [$status] }';
const outer = `name: outer
description: plans, and has a loop do it
roles:
  planner: { description: plans, systemPrompt: You plan., ${schema} }
  caller: { description: calls, systemPrompt: You call., ${schema} }
moderator:
  - { from: __start__, to: planner, when: null }
  - { from: planner, to: caller, when: null, prompt: "Write it." }
  - { from: caller, to: __end__, when: null }
`;
const replies = {
  planner: ['---\n$status: done\n---\nA plan.'],
  writer: ['---\n$status: written\nwords: 2\n---\nA draft'],
  checker: ['---\n$status: accepted\n---\nGood'],
};
const config = {
  agents: {
    script: { package: 'builtin:scripted', config: { repeat: true, replies } },
    loop: { package: 'builtin:workflow', config: { workflow: 'loop' } },
  },
  defaultAgent: 'script',
  roles: { 'outer.caller': 'loop' },
};

type Answer = { text: string; isError: boolean };

/** Has `uwf mcp`, which works for a thread, called once for each call. */
async function callAs(repository: CliRepository, thread: string, calls: [string, JsonObject][]): Promise<Answer[]> {
  const client = new Client({ name: 'test', version: '1' });
  const program = resolve(import.meta.dirname, '../../bin/uwf.js');
  const env = { ...isolatedGitEnvironment, UWF_THREAD: thread };
  const args = [program, 'mcp'];
  await client.connect(
    new StdioClientTransport({ command: process.execPath, args, cwd: repository.dir, env, stderr: 'ignore' }),
  );
  const answers: Answer[] = [];
  for (const [name, input] of calls) {
    const { content, isError } = await client.callTool({ name, arguments: input });
    // uwf answers with one text.
    const [part] = content as [{ type: 'text'; text: string }];
    answers.push({ text: part.text, isError: isError === true });
  }
  await client.close();
  return answers;
}

describe('the server of a turn', () => {
  let repository: CliRepository;
  /** A run, the one that it called, and another pair that has nothing to do with them. */
  let [parent, child, stranger, cousin] = ['', '', '', ''];
  let hashOf: (thread: string) => string = () => '';

  beforeAll(async () => {
    repository = createLoopRepository();
    repository.write('.uwf/workflows/outer.yaml', outer);
    repository.write('.uwf/config.yaml', JSON.stringify(config));
    const options = { env: { UWF_TRUST: 'all' } };
    const pairs: string[][] = [];
    for (const prompt of ['The task.', 'A secret task.']) {
      const [started] = await repository.lines(['run', 'outer', '-p', prompt], options);
      const { children } = (await repository.json(['thread', 'show', String(started!['thread'])])) as {
        children: string[];
      };
      pairs.push([String(started!['thread']), ...children]);
    }
    [[parent, child], [stranger, cousin]] = pairs as [[string, string], [string, string]];
    const hashes = new Map<string, string>();
    for (const thread of [parent, child, stranger, cousin]) {
      const said = (await repository.json(['thread', 'read', thread])) as { step: string | null }[];
      hashes.set(thread, said.findLast(({ step }) => step !== null)?.step ?? '');
    }
    hashOf = (thread) => hashes.get(thread) ?? '';
  });

  test.each(['child', 'parent'])(
    'of a %s reads its own thread, those above and those below, and lists these',
    async (which) => {
      const own = which === 'child' ? child : parent;
      const [listed, ...read] = await callAs(repository, own, [
        ['thread_list', { all: true }],
        ['thread_show', {}],
        ...[parent, child].flatMap((thread): [string, JsonObject][] => [
          ['thread_read', { thread }],
          ['thread_show', { thread: thread.toLowerCase() }],
          ['step_show', { thread, step: '1' }],
          ['cas_get', { hash: hashOf(thread), thread }],
        ]),
        ['cas_get', { hash: hashOf(own) }],
      ]);
      const ids = (JSON.parse(listed!.text) as { thread: string }[]).map(({ thread }) => thread);
      expect(ids.toSorted((a, b) => a.localeCompare(b))).toEqual(
        [parent, child].toSorted((a, b) => a.localeCompare(b)),
      );
      expect(read.filter(({ isError }) => isError)).toEqual([]);
    },
  );

  test('tells of nothing else, not even that it is there', async () => {
    const never = '01BX5ZZKBKACTAV9WEVGEMMVRZ';
    const prefix = stranger.slice(0, 4);
    const named = [stranger, cousin, prefix, never].flatMap((thread): [string, JsonObject & { thread: string }][] => [
      ['thread_show', { thread }],
      ['thread_read', { thread }],
      ['step_show', { thread, step: '1' }],
      ['parent_context', { thread }],
      ['cas_get', { thread, hash: hashOf(stranger) }],
    ]);
    const answers = await callAs(repository, child, named);
    for (const [index, { text, isError }] of answers.entries()) {
      expect({ text, isError }).toEqual({
        text: expect.stringContaining(`'${named[index]![1].thread}' is not to be read from thread ${child}`),
        isError: true,
      });
    }
    const [byHash, byStart] = await callAs(repository, child, [
      ['cas_get', { hash: hashOf(stranger) }],
      ['thread_show', { thread: hashOf(stranger) }],
    ]);
    expect([byHash?.isError, byStart?.isError]).toEqual([true, true]);
    expect(JSON.stringify([answers, byHash, byStart])).not.toContain('secret task');
  });

  test('puts under its own thread only', async () => {
    const thread = await repository.start('loop', 'x');
    const put = (into?: string): [string, JsonObject] => ['cas_put', { text: 'x', ...(into && { thread: into }) }];
    const answers = await callAs(repository, thread, [put(), put(thread), put(parent), put(stranger), put('01')]);
    expect(answers.map(({ isError }) => isError)).toEqual([false, false, true, true, true]);
    expect(answers[2]?.text).toContain(`'${parent}' is not to be put into from thread ${thread}`);
    const other = await callAs(repository, child, [put(parent)]);
    expect(other[0]?.isError).toBe(true);
  });
});
