import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { AgentBroken, AgentMissing, AgentNotAuthorized } from '../../../src/agent/agent-errors.ts';
import { createAgent } from '../../../src/agent/acp/acp-agent.ts';
import type { AgentEvent } from '../../../src/agent/contract.ts';
import { WorkingFolderMissing } from '../../../src/agent/processes/start-program.ts';
import { isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import { agentRequest, temporaryFolder } from '../../helpers/agent-request.ts';
import { groupsOf, refusalsOf, runScripted, scriptedAgent } from './acp-fixture.ts';

describe('a turn', () => {
  test('sends the prompt and gives what was said, with the session, the version and why it stopped', async () => {
    const { reply, events } = await runScripted(['reply']);
    expect(reply).toEqual({
      kind: 'reply',
      text: '---\n$status: done\n---\nDo the work.\n',
      session: 'session-1',
      agentVersion: 'Scripted 1.2.3',
      stopReason: 'end_turn',
      usage: { inputTokens: 0, outputTokens: 0, turns: 1, isAtLeast: true },
    });
    expect(events[0]).toHaveProperty('kind', 'process-group');
    expect(events.slice(1).map((event) => event.kind)).toEqual(['session', 'text', 'text', 'usage']);
  });

  test('tells thoughts, plans, tool calls with what they were given and gave, and usage', async () => {
    const { reply, events } = await runScripted(['work', 'reply']);
    expect(events.filter(({ kind }) => !['process-group', 'session', 'text'].includes(kind))).toEqual([
      { kind: 'thought', text: 'Let me see.' },
      { kind: 'plan', text: '- [x] look\n- [ ] do (now)' },
      { kind: 'tool-call', id: 'call-1', name: 'read', arguments: { path: 'notes.md' } },
      { kind: 'tool-result', id: 'call-1', result: 'the notes', durationMs: expect.any(Number) },
      { kind: 'tool-call', id: 'call-2', name: 'execute', arguments: { title: 'Run the tests' } },
      { kind: 'tool-result', id: 'call-2', result: '1 failed', durationMs: expect.any(Number), isError: true },
      { kind: 'usage', usage: { inputTokens: 0, outputTokens: 0, turns: 2, costUsd: 0.25, isAtLeast: true } },
      { kind: 'usage', usage: { inputTokens: 700, outputTokens: 200, turns: 3, costUsd: 0.25 } },
    ]);
    expect(reply).toMatchObject({ usage: { inputTokens: 700, costUsd: 0.25 } });
  });

  test('that ends with a tool call replies with what was said before it', async () => {
    const { text, events } = await runScripted(['reply', 'openCall']);
    expect(text).toBe('---\n$status: done\n---\nDo the work.\n');
    const result = {
      kind: 'tool-result',
      id: 'call-1',
      isError: true,
      result: expect.stringContaining('ended before'),
    };
    expect(events).toContainEqual(expect.objectContaining(result));
  });

  test('takes the result that was reported by a tool for the meta', async () => {
    const { reply } = await runScripted(['result', 'reply']);
    expect(reply).toMatchObject({ meta: { $status: 'done', words: 3 } });
  });

  test('does not take an earlier try’s result for its own', async () => {
    const agent = scriptedAgent(['reply']);
    const request = agentRequest();
    expect(await agent.run(request)).not.toHaveProperty('meta');
    writeFileSync(join(request.stepDir, 'result.json'), '{"$status":"old"}');
    expect(await agent.run({ ...request, attempt: 1, session: 'session-1' })).not.toHaveProperty('meta');
  });

  test.each([
    ['what was said after the last tool call', ['work', 'reply']],
    ['nothing of what another session of the agent says', ['aside', 'reply', 'aside']],
    ['nothing of what is no message of the protocol', ['--noisy', 'malformed', 'reply']],
  ])('replies with %s', async (_, words) => {
    const { reply } = await runScripted(words);
    expect(reply).toMatchObject({ kind: 'reply', text: '---\n$status: done\n---\nDo the work.\n' });
  });
});

describe('the reason why an agent stopped', () => {
  test.each([
    ['maxTokens', { kind: 'suspend', cause: 'limit', reason: expect.stringContaining('tokens') }],
    ['maxRequests', { kind: 'suspend', cause: 'limit', reason: expect.stringContaining('as often as it may') }],
    ['refusal', { kind: 'suspend', cause: 'agent', reason: 'worker refused to do this: I will not do that.' }],
    ['cancelled', { kind: 'failed-attempt', reason: 'the agent cancelled its turn by itself' }],
  ])('%s is told apart from being done', async (scenario, expected) => {
    const { reply } = await runScripted([scenario]);
    expect(reply).toMatchObject({ ...expected, session: 'session-1' });
  });
});

describe('sessions', () => {
  test('one process serves the tries of a turn, in one session', async () => {
    const agent = scriptedAgent(['session', 'reply'], { isProcess: true });
    const request = agentRequest();
    await agent.run(request);
    const second = await agent.run({ ...request, prompt: 'Again.', attempt: 1, session: 'session-1' });
    expect(groupsOf(request.events)).toHaveLength(1);
    expect(second.text).toContain('"earlier":["Do the work.\\n"]');
    await agent.close?.();
    expect(groupsOf(request.events).filter((pgid) => isGroupAlive(pgid))).toEqual([]);
  });

  test('a later turn has in its cost what the session has cost since, not all of it', async () => {
    const words = [`--store=${temporaryFolder()}`, '--resume', 'spend', 'reply'];
    const first = await runScripted(words);
    expect(first.reply).toMatchObject({ usage: { costUsd: 0.1, inputTokens: 1000, cacheReadTokens: 700 } });
    const { session } = first.reply as { session: string }; // as every reply of this agent has one
    const second = await runScripted(words, { session });
    // It is not known how an agent of this name counts.
    expect(second.reply).toMatchObject({ usage: { costUsd: 0.1, isAtLeast: true, outputTokens: 20 } });
  });

  test('a new one of an agent without its mode begins with a warning, one that is continued does not', async () => {
    const command = ['node', 'claude-agent-acp', `--store=${temporaryFolder()}`, '--resume', 'reply'];
    const first = await runScripted([], { config: { command } });
    const warning = expect.stringContaining("has no 'mode': Claude Code may then permit commands") as string;
    expect(first.events[1]).toEqual({ kind: 'refusal', text: warning });
    const later = await runScripted([], { config: { command }, session: 'session-1' });
    expect(refusalsOf(later.events)).toEqual([]);
    const governed = await runScripted([], { config: { command, mode: 'plan' } });
    expect(refusalsOf(governed.events)).toEqual([]);
  });

  test.each(['--load', '--resume'])('a later turn continues the session it is given, with %s', async (how) => {
    const store = temporaryFolder();
    const words = [`--store=${store}`, how, 'session', 'reply'];
    await runScripted(words);
    const later = await runScripted(words, {
      prompt: 'Next.',
      promptWithoutSession: 'All of it.',
      session: 'session-1',
    });
    expect(later.text).toContain('Next.');
    expect(later.text).not.toContain('All of it.');
    // What a loaded session tells again belongs to another turn.
    expect(later.events.filter(({ kind }) => kind === 'text').length).toBe(4);
    expect(later.reply).toMatchObject({ session: 'session-1' });
  });

  test('one that cannot be resumed is loaded, and what it tells again is no reply', async () => {
    const words = [`--store=${temporaryFolder()}`, '--resume', '--resume-fails', '--load', 'session', 'reply'];
    await runScripted(words);
    const { text, events } = await runScripted(words, {
      prompt: 'Next.',
      promptWithoutSession: 'All of it.',
      session: 'session-1',
    });
    expect(text).toContain('"earlier":["Do the work.\\n"]');
    expect(text).toContain('Next.');
    expect(events.filter(({ kind }) => kind === 'text').length).toBe(4);
  });

  test.each([
    ['the agent cannot continue any', []],
    ['the agent has lost it', ['--load']],
    ['the agent has lost it in both ways', ['--resume', '--load']],
    ['the agent opens any session, and has nothing to tell of it', ['--load', '--load-any']],
  ])('a new one is opened with the whole prompt where %s', async (_, options) => {
    const words = [...options, 'reply'];
    const { text } = await runScripted(words, { prompt: 'Next.', promptWithoutSession: 'All of it.', session: 'gone' });
    expect(text).toContain('All of it.');
  });

  test('model and mode are chosen where they are configured', async () => {
    const { text } = await runScripted(['session'], { config: { model: 'large', mode: 'plan' } });
    expect(text).toContain('"mode":"plan","model":"large"');
  });

  test.each([
    ['--models-alone', 'huge'],
    ['--models-alone', 'started-with'],
    ['--models-too', 'huge'],
    ['--models-too', 'large'],
  ])('a model is chosen of those that an agent offers as models, %s', async (how, model) => {
    const { text } = await runScripted([how, 'session'], { config: { model } });
    expect(text).toContain(`"model":"${model}"`);
  });

  test.each([
    [[], 'huge', 'it offers small, large'],
    [['--models-alone'], 'large', 'it offers tiny, huge, started-with'],
    [['--models-too'], 'none', 'it offers small, large, tiny, huge, started-with'],
  ])('a model that is not offered is named, with those that are', async (how, model, hint) => {
    await expect(runScripted([...how, 'reply'], { config: { model } })).rejects.toMatchObject({
      constructor: AgentBroken,
      message: expect.stringContaining(model),
      hint,
    });
  });
});

describe('what the agent is given', () => {
  test('is an environment without keys, but for those that are named or given', async () => {
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: '/home',
      GITHUB_TOKEN: 'ghp_x',
      NAMED: 'yes',
      UWF_THREAD: 't',
    };
    const config = { passEnv: ['NAMED'], env: { GIVEN: 'too' } };
    const { text, request } = await runScripted(['environment'], { env, config, isProcess: true });
    const got = JSON.parse(text) as { env: Record<string, string>; cwd: string };
    expect(got.env).toMatchObject({ HOME: '/home', NAMED: 'yes', GIVEN: 'too', UWF_THREAD: 't' });
    expect(got.env).not.toHaveProperty('GITHUB_TOKEN');
    expect(got.cwd).toBe(request.cwd);
  });

  test('is uwf’s own MCP server, for this step', async () => {
    const env = { PATH: process.env['PATH'] ?? '', UWF_REPOSITORY: '/repository/.git' };
    const { text, request } = await runScripted(['session'], { config: { mcp: true }, env });
    const { mcpServers } = JSON.parse(text) as { mcpServers: { args: string[]; env: object[] }[] };
    expect(mcpServers).toHaveLength(1);
    expect(mcpServers[0]).toMatchObject({ name: 'uwf', command: process.execPath });
    expect(mcpServers[0]?.args.at(-1)).toBe('mcp');
    expect(mcpServers[0]?.env).toEqual([
      { name: 'UWF_THREAD', value: request.threadId },
      { name: 'UWF_ROLE', value: 'worker' },
      { name: 'UWF_STEP_DIR', value: request.stepDir },
      { name: 'UWF_REPOSITORY', value: '/repository/.git' },
    ]);
  });
});

describe('logging in', () => {
  test('is asked of the person where the agent wants it, and said how', async () => {
    await expect(runScripted(['--needs-auth'])).rejects.toMatchObject({
      constructor: AgentNotAuthorized,
      kind: 'agent',
      hint: expect.stringMatching(/passEnv.*authMethod: key.*put the key into SCRIPTED_KEY/u),
    });
  });

  test('is done in the way that is configured', async () => {
    const { reply } = await runScripted(['--needs-auth', 'reply'], { config: { authMethod: 'key' } });
    expect(reply).toHaveProperty('kind', 'reply');
  });

  test('in a way that the agent has not got is refused, with those it has', async () => {
    const turn = runScripted(['--needs-auth', 'reply'], { config: { authMethod: 'magic' } });
    await expect(turn).rejects.toMatchObject({ hint: "'authMethod' may be key" });
  });
});

describe('an agent that does not come to work', () => {
  test('because its program is not there is missing', async () => {
    const agent = createAgent({ command: ['no-such-agent-anywhere'] });
    await expect(agent.run(agentRequest())).rejects.toMatchObject({
      constructor: AgentMissing,
      hint: expect.stringContaining("correct 'command'"),
    });
  });

  test('because the working folder is not there does not blame the agent', async () => {
    const agent = scriptedAgent(['reply'], { isProcess: true });
    const cwd = join(temporaryFolder(), 'gone');
    await expect(agent.run(agentRequest({ cwd }))).rejects.toThrow(WorkingFolderMissing);
  });

  test('because it ends at once is a failed try that says what it printed', async () => {
    const request = agentRequest();
    await expect(scriptedAgent(['--exit-at-once'], { isProcess: true }).run(request)).rejects.toThrow(
      /ended with exit code 3; it said: cannot find my configuration/u,
    );
  });

  test('because it says nothing is ended after a while', async () => {
    const request = agentRequest();
    const turn = scriptedAgent(['--never-ready'], { config: { startTimeoutMs: 300 }, isProcess: true }).run(request);
    await expect(turn).rejects.toMatchObject({ constructor: AgentBroken, message: expect.stringContaining('0.3 s') });
    expect(groupsOf(request.events).filter((pgid) => isGroupAlive(pgid))).toEqual([]);
  });

  test('because it speaks another version of the protocol says which', async () => {
    await expect(runScripted(['--other-version'])).rejects.toThrow(/speaks version 7/u);
  });

  test('because it opens a session without an id says so', async () => {
    await expect(runScripted(['--no-session-id'])).rejects.toThrow("answer to 'session/new' has no 'sessionId'");
  });
});

describe('an agent that fails', () => {
  test.each([
    ['error', { reason: expect.stringContaining('the model is overloaded') }],
    // Another try would be as long.
    ['tooLong', { isFinal: true, reason: expect.stringMatching(/prompt is too long: 210000.*compact the thread/u) }],
    ['nullAnswer', { reason: expect.stringContaining("answer to 'session/prompt' is no object") }],
  ])('by %s gives a failed try with its words', async (scenario, expected) => {
    const { reply } = await runScripted([scenario]);
    expect(reply).toMatchObject({ kind: 'failed-attempt', ...expected });
  });

  test('by dying gives a failed try with what it had said and printed, and leaves nothing behind', async () => {
    const { reply, events } = await runScripted(['fork', 'die'], { config: { graceMs: 100 }, isProcess: true });
    expect(reply).toMatchObject({
      kind: 'failed-attempt',
      reason: expect.stringMatching(/ended with exit code 9; it said: out of memory/u),
      text: 'So far so good.',
    });
    expect(groupsOf(events).filter((pgid) => isGroupAlive(pgid))).toEqual([]);
  });

  test.each([
    ['said', ['reply', 'vanish'], '---\n$status: done\n---\n'],
    ['reported', ['work', 'result', 'vanish'], '---\n{"$status":"done","words":3}\n---\nI look at the file first.'],
  ])('by ending after it has %s its reply is not paid again, and the reply is kept', async (_, words, text) => {
    const { reply } = await runScripted(words);
    expect(reply).toMatchObject({
      kind: 'failed-attempt',
      isFinal: true,
      reason: expect.stringMatching(/ended with exit code 0; it had given a reply, which may be incomplete/u),
      text: expect.stringContaining(text),
    });
  });

  test('with an error of 1 MB gives a failed try with its beginning and its end', async () => {
    const { reply } = await runScripted(['longError']);
    const reason = reply.kind === 'failed-attempt' ? reply.reason : '';
    expect(reason).toContain('characters were left out here');
    expect(reason.length).toBeLessThan(5000);
  });

  test('by dying is started again for the next try', async () => {
    const store = temporaryFolder();
    const agent = scriptedAgent([`--store=${store}`, 'dieOnce', 'reply']);
    const request = agentRequest();
    expect(await agent.run(request)).toHaveProperty('kind', 'failed-attempt');
    expect(await agent.run({ ...request, attempt: 1 })).toHaveProperty('kind', 'reply');
    expect(groupsOf(request.events)).toHaveLength(2);
  });

  test.each(['flood', 'floodLine', 'floodGarbage'])('by %s of a GB is ended, in little memory', async (scenario) => {
    const before = process.memoryUsage().rss;
    let peak = before;
    const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
    const config = { maxOutputBytes: 200_000_000, graceMs: 0 };
    const request = agentRequest();
    // The engine keeps no more of what is told than it may; this test keeps nothing.
    const emit = (event: AgentEvent): void => void (event.kind === 'process-group' && request.events.push(event));
    const reply = await scriptedAgent([scenario], { config, isProcess: true }).run({ ...request, emit });
    clearInterval(watch);
    expect(reply).toMatchObject({ kind: 'failed-attempt', reason: expect.stringContaining('wrote') });
    expect(peak - before).toBeLessThan(200 * 1024 * 1024);
    expect(groupsOf(request.events).filter((pgid) => isGroupAlive(pgid))).toEqual([]);
  });
});

describe('an abort', () => {
  async function abortAtFirstText(
    words: string[],
    graceMs = 300,
  ): Promise<{ error: unknown; alive: number[]; tookMs: number }> {
    const controller = new AbortController();
    const request = agentRequest({ signal: controller.signal });
    const reason = new Error('stop, please');
    let abortedAt = 0;
    const emit = (event: AgentEvent): void => {
      request.events.push(event);
      if (event.kind === 'text') {
        abortedAt = performance.now();
        controller.abort(reason);
      }
    };
    const error: unknown = await scriptedAgent(words, { config: { graceMs }, isProcess: true })
      .run({ ...request, emit })
      .then(
        () => undefined,
        (caught: unknown) => caught,
      );
    const alive = groupsOf(request.events).filter((pgid) => isGroupAlive(pgid));
    return { error, alive, tookMs: performance.now() - abortedAt };
  }

  test('is told to the agent, which may finish what it is at', async () => {
    const store = temporaryFolder();
    const { error, alive } = await abortAtFirstText([`--store=${store}`, 'untilCancel'], 5000);
    expect(error).toMatchObject({ message: 'stop, please' });
    expect(alive).toEqual([]);
    expect(readFileSync(join(store, 'cancelled'), 'utf8')).toBe('x');
  });

  test.each([
    ['lateAfterCancel'],
    ['--ignore-sigterm', 'reply', 'hang'],
    ['--ignore-sigterm', 'fork', 'reply', 'hang'],
  ])('of %s ends the whole group after the grace time', async (...words) => {
    const { error, alive } = await abortAtFirstText(words);
    expect(error).toMatchObject({ message: 'stop, please' });
    expect(alive).toEqual([]);
  });

  test('while the agent starts ends it', async () => {
    const controller = new AbortController();
    const request = agentRequest({ signal: controller.signal });
    const turn = scriptedAgent(['--never-ready'], { isProcess: true }).run(request);
    setTimeout(() => controller.abort(new Error('never mind')), 150);
    await expect(turn).rejects.toThrow('never mind');
    expect(groupsOf(request.events).filter((pgid) => isGroupAlive(pgid))).toEqual([]);
  });
});

test('what a role’s session keeps is made where the role works', async () => {
  const cwd = join(temporaryFolder(), 'here');
  mkdirSync(cwd);
  const { text } = await runScripted(['session'], { cwd });
  expect(text).toContain(`"cwd":"${cwd}"`);
});
