import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';

import { AgentBroken, AgentMissing } from '../../../src/agent/agent-errors.ts';
import { createAgent } from '../../../src/agent/command/command-agent.ts';
import { isGroupAlive } from '../../../src/agent/processes/process-group.ts';
import { WorkingFolderMissing } from '../../../src/agent/processes/start-program.ts';
import type { AgentReply } from '../../../src/agent/contract.ts';
import type { JsonObject } from '../../../src/json.ts';
import { agentRequest, fixtureAgent, type ObservedRequest, temporaryFolder } from '../../helpers/agent-request.ts';

function runFixture(
  [name, ...args]: [string, ...string[]],
  request: ObservedRequest,
  config: JsonObject = {},
): Promise<AgentReply> {
  const agent = createAgent({ argv: [process.execPath, fixtureAgent(name), ...args], ...config });
  // `createAgent` of this package answers at once.
  return agent.run(request);
}

function groupOf(request: ObservedRequest): number {
  const event = request.events.find(({ kind }) => kind === 'process-group');
  return event?.kind === 'process-group' ? event.pgid : 0;
}

/** Aborts as soon as the program has said something. */
function abortAtFirstText(): { signal: AbortSignal; request: ObservedRequest } {
  const controller = new AbortController();
  const request = agentRequest({ signal: controller.signal });
  request.emit = (event) => {
    request.events.push(event);
    if (event.kind === 'text') controller.abort(new Error('stop, please'));
  };
  return { signal: controller.signal, request };
}

describe('what a program is given', () => {
  test('the prompt on standard input, whole, whatever its size', async () => {
    const prompt = 'é'.repeat(1_000_000);
    expect(await runFixture(['echo.js', '$status: done'], agentRequest({ prompt }))).toMatchObject({
      kind: 'reply',
      text: `---\n$status: done\n---\n${prompt}`,
    });
  });

  test('its arguments as they are: no shell reads them', async () => {
    const reply = await runFixture(['echo.js', 'a: $(id) `id` $HOME * ; echo'], agentRequest({ prompt: '' }));
    expect(reply).toMatchObject({ text: '---\na: $(id) `id` $HOME * ; echo\n---\n' });
  });

  test('the environment of the request with that of the configuration over it, and the folder to work in', async () => {
    const request = agentRequest({ env: { PATH: process.env['PATH'] ?? '', UWF_ROLE: 'tester', LANG: 'C' } });
    const agent = createAgent({ argv: ['sh', '-c', 'echo "$UWF_ROLE $LANG $HOME"; pwd'], env: { LANG: 'POSIX' } });
    expect(await agent.run(request)).toMatchObject({ text: `tester POSIX \n${request.cwd}\n` });
  });

  test('nothing to be sorry for when it does not read its prompt', async () => {
    const prompt = 'x'.repeat(4_000_000);
    expect(await runFixture(['exit-code.js'], agentRequest({ prompt }))).toMatchObject({
      kind: 'reply',
      text: 'to stdout\n',
    });
  });
});

describe('what an exit means', () => {
  const statuses = { '0': 'passed', '3': 'skipped', SIGKILL: 'killed', default: 'failed' };

  test.each([
    ['0', 'passed'],
    ['3', 'skipped'],
    ['1', 'failed'],
    ['SIGKILL', 'killed'],
    ['SIGHUP', 'failed'],
  ])('%s reports the status %s where statuses are configured, with the output as text', async (how, $status) => {
    expect(await runFixture(['exit-code.js', how], agentRequest(), { statuses })).toEqual({
      kind: 'reply',
      text: 'to stdout\n',
      meta: { $status },
      isFinal: true,
    });
  });

  test.each([
    ['7', 'exit code 7'],
    ['SIGTERM', 'SIGTERM'],
  ])('%s is a failed attempt without statuses, and says what standard error said', async (how, words) => {
    const reply = await runFixture(['exit-code.js', how], agentRequest());
    expect(reply).toMatchObject({ kind: 'failed-attempt', text: 'to stdout\n' });
    expect(reply).toHaveProperty('reason', expect.stringContaining(words));
    expect(reply).toHaveProperty('reason', expect.stringContaining('to stderr'));
  });

  test('an exit that the statuses do not name is read as if there were none', async () => {
    const only = { statuses: { '1': 'failed' } };
    expect(await runFixture(['exit-code.js', '0'], agentRequest(), only)).not.toHaveProperty('meta');
    expect(await runFixture(['exit-code.js', '2'], agentRequest(), only)).toHaveProperty('kind', 'failed-attempt');
  });

  test('a reply that is not UTF-8 is no reply; an output beside a status is taken, with a word; a byte order mark stays', async () => {
    const argv = ['printf', '\\357\\273\\277a\\377b'];
    expect(await createAgent({ argv }).run(agentRequest())).toMatchObject({
      kind: 'failed-attempt',
      reason: "'printf': its output is not text in UTF-8",
      text: '\uFEFFa\uFFFDb',
    });
    const request = agentRequest();
    expect(await createAgent({ argv, statuses: { 0: 'done' } }).run(request)).toMatchObject({
      kind: 'reply',
      text: '\uFEFFa\uFFFDb',
    });
    const thoughts = request.events.flatMap((event) => (event.kind === 'thought' ? event.text : []));
    expect(thoughts).toEqual([expect.stringContaining('not text in UTF-8')]);
  });
});

const says = (script: string, config: JsonObject = {}): Promise<AgentReply> =>
  Promise.resolve(createAgent({ argv: ['sh', '-c', script], ...config }).run(agentRequest()));

describe('a program is run again', () => {
  test.each([
    ['after no exit', 'exit 1', {}, true],
    ['after an exit that is named', 'exit 75', { retryOnExit: [1, 75] }, undefined],
    ['after no other exit', 'exit 74', { retryOnExit: [1, 75] }, true],
    ['after a signal that is named', 'kill -KILL $$', { retryOnExit: ['SIGKILL'] }, undefined],
    ['after no other signal', 'kill -SEGV $$', { retryOnExit: ['SIGKILL'] }, true],
    ['after none because it talks', 'exit 1', { answers: true }, true],
    [
      'after a named exit before that is a status',
      'exit 3',
      { retryOnExit: [3], statuses: { default: 'x' } },
      undefined,
    ],
    ['after no flood', 'yes', { maxOutputBytes: 10, retryOnExit: ['SIGTERM'] }, true],
  ])('%s', async (_, script, config, isFinal) => {
    const reply = await says(script, config);
    expect(reply.kind).toBe('failed-attempt');
    expect('isFinal' in reply ? reply.isFinal : undefined).toBe(isFinal);
  });

  test.each([
    ['not after a status that is not accepted', { statuses: { '0': 'done' } }, true, false],
    ['after one of a program that answers', { statuses: { '0': 'done' }, answers: true }, false, true],
    ['after a reply that is not accepted', {}, undefined, false],
  ])('%s', async (_, config, isFinal, answers) => {
    const reply = await says('echo fine', config);
    expect(reply.kind === 'reply' && reply.isFinal).toBe(isFinal);
    expect(createAgent({ argv: ['true'], ...config }).answers).toBe(answers);
  });
});

describe('the text', () => {
  const both = 'echo one; echo two >&2; echo three; echo four >&2; exit 4';
  test.each([
    ['standard output', {}, both, 'one\nthree\n'],
    ['standard error where standard output is empty', {}, 'echo >&1; echo what failed >&2; exit 4', 'what failed\n'],
    ['standard output alone', { output: 'stdout' }, 'echo no >&2; exit 4', ''],
    ['standard error alone', { output: 'stderr' }, both, 'two\nfour\n'],
    ['both in their order', { output: 'both' }, both, 'one\ntwo\nthree\nfour\n'],
  ])('is %s', async (_, config, script, text) => {
    const meta = { $status: 'failed' };
    expect(await says(script, { ...config, statuses: { '4': 'failed' } })).toMatchObject({ text, meta });
    expect(await says(script, config)).toMatchObject({ kind: 'failed-attempt', text });
  });

  test('of a failure quotes what was said, on whichever stream', async () => {
    for (const script of ['echo said so', 'echo noise; echo said so >&2']) {
      const reply = await says(`${script}; exit 2`);
      expect(reply).toHaveProperty('reason', "'sh' ended with exit code 2: said so");
    }
    expect(await says('echo said so >&2; exit 2', { output: 'both' })).toHaveProperty(
      'reason',
      "'sh' ended with exit code 2: said so",
    );
  });

  test('keeps the end of a long standard error, whatever the size of its pieces', async () => {
    const script =
      'echo first >&2; i=0; while [ $i -lt 30000 ]; do echo "line number $i" >&2; i=$((i+1)); done; echo last >&2';
    const reply = await says(script);
    const text = reply.kind === 'reply' ? reply.text : '';
    expect(text).toMatch(/^first\nline number 0\n[^]*characters were left out[^]*line number 29999\nlast\n$/u);
  });

  test('of a stream that is chosen may have maxOutputBytes', async () => {
    for (const output of ['stderr', 'both']) {
      expect(await says('yes >&2', { output, maxOutputBytes: 1000 })).toMatchObject({
        kind: 'failed-attempt',
        reason: expect.stringContaining('maxOutputBytes'),
      });
    }
  });
});

describe('events', () => {
  test('tell the process group first, then standard output as text and standard error as thoughts', async () => {
    const request = agentRequest();
    await runFixture(['exit-code.js'], request);
    expect(request.events[0]).toEqual({ kind: 'process-group', pgid: expect.any(Number) });
    expect(request.events.slice(1)).toHaveLength(2);
    expect(request.events).toContainEqual({ kind: 'text', text: 'to stdout\n' });
    expect(request.events).toContainEqual({ kind: 'thought', text: 'to stderr\n' });
  });

  test('never tear a character in two', async () => {
    const text = '€'.repeat(200_000);
    const request = agentRequest({ prompt: text });
    await runFixture(['echo.js'], request);
    const told = request.events.map((event) => (event.kind === 'text' ? event.text : ''));
    expect(told.join('')).toBe(text);
  });
});

describe('a flood', () => {
  test('of standard output ends the program, in constant memory, and the attempt says so', async () => {
    const request = agentRequest();
    const before = process.memoryUsage().rss;
    const reply = await runFixture(['flood.js', '1024'], request, { maxOutputBytes: 1_000_000 });
    expect(reply).toMatchObject({ kind: 'failed-attempt' });
    expect(reply).toHaveProperty('reason', expect.stringContaining('maxOutputBytes'));
    expect(process.memoryUsage().rss - before).toBeLessThan(128 * 1024 * 1024);
    expect(isGroupAlive(groupOf(request))).toBe(false);
  });

  test('of standard error is dropped beyond the bound, and the reply still counts', async () => {
    const request = agentRequest();
    const config = { maxOutputBytes: 1_000_000, statuses: { '0': 'passed' } };
    const reply = await runFixture(['flood.js', '64', 'stderr'], request, config);
    expect(reply).toMatchObject({ kind: 'reply', meta: { $status: 'passed' } });
    // Standard output is empty: the beginning and the end of the flood are the text.
    expect(reply.kind === 'reply' ? reply.text.length : 0).toBeLessThan(210_000);
    const told = request.events.map((event) => (event.kind === 'thought' ? event.text.length : 0));
    expect(told.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(1_000_000);
  });

  test('may use every byte that it is allowed', async () => {
    const prompt = 'x'.repeat(1000);
    expect(await runFixture(['echo.js'], agentRequest({ prompt }), { maxOutputBytes: 1000 })).toMatchObject({
      kind: 'reply',
      text: prompt,
    });
  });
});

describe('an abort', () => {
  test.each([['hang.js'], ['ignore-sigterm.js'], ['fork-grandchild.js', 'ignore-sigterm.js', 'stay']] as const)(
    'of %s ends the whole group and rejects with its reason',
    async (...fixture) => {
      const { request } = abortAtFirstText();
      await expect(runFixture([...fixture], request, { graceMs: 100 })).rejects.toThrow('stop, please');
      expect(groupOf(request)).toBeGreaterThan(1);
      expect(isGroupAlive(groupOf(request))).toBe(false);
    },
  );

  test('that came before starts nothing', async () => {
    const request = agentRequest({ signal: AbortSignal.abort(new Error('too late')) });
    await expect(runFixture(['hang.js'], request)).rejects.toThrow('too late');
    expect(request.events).toEqual([]);
  });
});

test('a grandchild that holds the output open neither blocks the turn nor outlives it', async () => {
  const request = agentRequest();
  const reply = await runFixture(['fork-grandchild.js', 'ignore-sigterm.js'], request, { graceMs: 50 });
  expect(reply).toMatchObject({ kind: 'reply', text: expect.stringMatching(/^grandchild \d+$/mu) });
  expect(isGroupAlive(groupOf(request))).toBe(false);
});

test('a process that left the group with the output open does not block the turn', async () => {
  const agent = createAgent({ argv: ['setsid', '-f', 'sh', '-c', 'echo $$; exec sleep 60'] });
  const reply = await agent.run(agentRequest());
  expect(reply).toMatchObject({ kind: 'reply', text: expect.stringMatching(/^\d+\n$/u) });
  // It is out of reach for uwf, not for the test.
  process.kill(reply.kind === 'reply' ? Number(reply.text) : 0, 'SIGKILL');
});

describe('a program that cannot be started', () => {
  test('because it is not there is named, with the PATH that was searched', async () => {
    const error = await createAgent({ argv: ['no-such-program-anywhere'] })
      .run(agentRequest({ env: { PATH: '/nowhere' } }))
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(AgentMissing);
    expect(error).toMatchObject({
      kind: 'agent',
      subject: 'no-such-program-anywhere',
      message: expect.stringContaining('no-such-program-anywhere'),
      hint: expect.stringContaining('/nowhere'),
    });
  });

  test('is named where both outputs are one stream, too', async () => {
    const agent = createAgent({ argv: ['no-such-program-anywhere', 'x'], output: 'both' });
    await expect(agent.run(agentRequest())).rejects.toThrow(AgentMissing);
  });

  test('because it may not be executed is told apart', async () => {
    const program = join(temporaryFolder(), 'program');
    writeFileSync(program, '#!/bin/sh\n');
    chmodSync(program, 0o644);
    await expect(createAgent({ argv: [program] }).run(agentRequest())).rejects.toThrow(/may not be executed/u);
  });

  test('because the working folder is not there does not blame the program', async () => {
    const request = agentRequest({ cwd: join(temporaryFolder(), 'gone') });
    await expect(createAgent({ argv: ['true'] }).run(request)).rejects.toThrow(WorkingFolderMissing);
  });

  test('because its arguments are impossible is the agent that is broken', async () => {
    await expect(createAgent({ argv: ['echo', 'a\0b'] }).run(agentRequest())).rejects.toThrow(AgentBroken);
  });
});
