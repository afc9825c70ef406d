import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

import type { JsonObject } from '../../src/json.ts';
import { createTemporaryFolder, createTemporaryRepository } from '../helpers/temporary-repository.ts';
import { agentNames, agentUnderTest } from './agents-under-test.ts';
import { callOwnTool } from './call-tool.ts';
import type { Conversation, Move } from './conversation.ts';
import { startModelServer } from './model-server.ts';
import type { ModelServer } from './model-server.ts';
import { onceWorkflow } from './once-workflow.ts';
import { runUwf } from './run-uwf.ts';

/** A model that reads, puts and reports by uwf's tools, and where it has none replies with front matter. */
function nextMove({ prompts, results, tools }: Conversation): Move {
  const isWorking = prompts.at(-1)?.includes('# You are worker') === true;
  // What the agent asks for itself, a title or what to ask next, is none of this.
  if (!isWorking || tools.length === 0) return { text: 'A title' };
  const done = results.filter((result) => !/^<functions>|tool_reference|Tool loaded/u.test(result)).length;
  const move = [
    callOwnTool(tools, 'thread_list', {}),
    callOwnTool(tools, 'cas_put', { text: '["a", "list"]' }),
    callOwnTool(tools, 'report_result', { words: 3 }),
  ][done];
  if (move === undefined) return { text: 'Done.' };
  return 'text' in move ? { text: '---\nwords: 4\n---\nDone without a tool.\n' } : move;
}

/** Runs one turn of an agent with nobody there, and gives the events of the run. */
async function runUnattended(
  name: (typeof agentNames)[number],
  change: (config: JsonObject) => JsonObject,
): Promise<{ server: ModelServer; events: JsonObject[]; uwf(...args: string[]): Promise<JsonObject[]> }> {
  const repository = createTemporaryRepository();
  const home = createTemporaryFolder();
  const server = await startModelServer(nextMove);
  onTestFinished(() => server.close());
  repository.git('commit', '--quiet', '--allow-empty', '-m', 'Begin');
  mkdirSync(join(repository.dir, '.uwf'));
  const config = change(agentUnderTest(name, server.url, home).config);
  const agents = { coding: { package: 'builtin:acp', config } };
  writeFileSync(join(repository.dir, '.uwf/config.yaml'), JSON.stringify({ agents, defaultAgent: 'coding' }));
  writeFileSync(join(repository.dir, 'once.yaml'), JSON.stringify(onceWorkflow));
  const uwf = async (...args: string[]): Promise<JsonObject[]> =>
    (await runUwf(repository.dir, home, [...args, '--json'])).lines;
  return { server, events: await uwf('run', 'once.yaml', '-p', 'Work.'), uwf };
}

describe('a run with nobody there', () => {
  test.each(agentNames)('%s uses uwf’s tools and is not asked about them', async (name) => {
    // With `deny` every question is answered with no, and told.
    const { events, uwf } = await runUnattended(name, (config) => ({ ...config, permissions: 'deny' }));
    const said = JSON.stringify(events, undefined, 1);
    expect(events.at(-1), said).toMatchObject({ event: 'thread.ended', returnCode: 0, text: 'Done.' });
    expect(events.filter(({ event }) => event === 'agent.refusal')).toEqual([]);
    const results = events.filter(({ event }) => event === 'agent.result');
    expect(results.filter(({ isError }) => isError === true)).toEqual([]);
    const [step] = await uwf('step', 'show', '1', '--thread', events[0]?.['thread'] as string); // as every event names it
    expect(step).toMatchObject({ meta: { words: 3 }, artifacts: [expect.any(String)] });
  });

  test('gemini in a folder that it does not trust says what is missing before the model is asked, and ends', async () => {
    const { server, events, uwf } = await runUnattended('gemini', (config) => {
      const { GEMINI_CLI_TRUST_WORKSPACE: _, ...env } = config['env'] as JsonObject; // as it is written above
      return { ...config, env };
    });
    const kinds = events.map(({ event }) => event);
    expect(kinds.indexOf('agent.refusal')).toBe(kinds.indexOf('step.started') + 1);
    const missing = expect.stringMatching(/has not taken uwf's MCP server.*GEMINI_CLI_TRUST_WORKSPACE/u);
    expect(events[kinds.indexOf('agent.refusal')]).toMatchObject({ text: missing });
    expect(events.at(-1)).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(server.conversations[0]?.tools.filter((tool) => tool.includes('report_result'))).toEqual([]);

    const [trace] = await uwf('step', 'turns', '1', '--thread', events[0]?.['thread'] as string); // as every event names it
    expect(JSON.stringify(trace)).toContain("has not taken uwf's MCP server");
    const [checks] = (await uwf('agent', 'test', 'coding')) as unknown as JsonObject[][]; // one line, a list
    expect(checks).toContainEqual(
      expect.objectContaining({ check: 'uwf tools', outcome: 'failed', hint: expect.stringContaining('trust') }),
    );
  });
});
