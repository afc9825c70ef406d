import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { installAgent } from '../../helpers/install-agent.ts';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import { forkThread } from '../../../src/thread/thread-verbs.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { createFixture, statuses, workflow, type EngineFixture } from '../engine-fixture.ts';

// It does what its turns say, one after the other over all visits, and keeps what it is told in a file.
const source = `
const { appendFileSync, readFileSync, existsSync } = require('node:fs');
exports.packageDescriptor = { name: 'told', version: '1.0.0', capabilities: [], configSchema: { type: 'object' } };
exports.createAgent = ({ log, turns, hasSessions }) => ({
  async run({ prompt, promptWithoutSession, role, session, answer, task }) {
    const told = existsSync(log) ? readFileSync(log, 'utf8').trimEnd().split('\\n').length : 0;
    appendFileSync(log, JSON.stringify({ role, prompt, promptWithoutSession, session, answer, task }) + '\\n');
    const turn = turns[told] ?? { kind: 'reply', meta: { $status: 'done' }, text: 'Reply ' + told + '.' };
    if (turn.throw) throw new Error(turn.throw);
    return { ...turn, ...(hasSessions && { session: 'session of ' + role }) };
  },
});
`;

/** What an agent was given in one of its turns. */
type Told = {
  role: string;
  prompt: string;
  promptWithoutSession: string;
  session?: string;
  answer?: string;
  task: string;
};

type Fixture = EngineFixture & { told: () => Told[]; other: Engine };

const definition = workflow('ask', { a: statuses('done'), b: statuses('done'), c: statuses('done') }, [
  'a',
  '__resume__ > b: See to what was added.',
  'a > b > end',
  'c > a',
]);
const noRetries = { ...definition, roles: withoutRetries(definition.roles) };

function withoutRetries(roles: typeof definition.roles): typeof definition.roles {
  return Object.fromEntries(Object.entries(roles).map(([name, role]) => [name, { ...role, retries: 0 }]));
}

async function scene(turns: JsonObject[], hasSessions = false): Promise<Fixture> {
  const agents: Record<string, { name: string; package: string; config: JsonObject }> = {};
  const fixture = await createFixture({ agents, defaultAgent: 'it', roles: {} });
  const log = join(fixture.dir, 'told.jsonl');
  agents['it'] = { name: 'it', package: 'told', config: { log, turns, hasSessions } };
  agents['another'] = { name: 'another', package: 'told', config: { log, turns, hasSessions } };
  installAgent(fixture.dir, 'told', source);
  const told = (): Told[] =>
    readFileSync(log, 'utf8')
      .trimEnd()
      .split('\n')
      // The agent above wrote them.
      .map((line) => JSON.parse(line) as Told);
  const other = createEngine({
    repository: fixture.repository,
    config: { agents, defaultAgent: 'another', roles: {} },
  });
  return { ...fixture, told, other };
}

const ask = (reason: string, text: string): JsonObject => ({ kind: 'suspend', cause: 'agent', reason, text });
const fail = { kind: 'failed-attempt', reason: 'no network', text: 'Half of it.' };

/** The part of a prompt that tells what passed with people. */
function exchangeIn(prompt: string): string {
  const [, after = ''] = prompt.split('# What passed between you and people\n\n');
  return after.split(/^# /mu)[0]?.trim() ?? '';
}

const TWO_QUESTIONS = `## You stopped

> Which base?

What you said:

> I have read it.

## A person answered

Postgres.

## You stopped

> a failed: no network

What you said:

> Half of it.

## A person let you go on

## You stopped

> Which port?

What you said:

> The base is there.

## A person answered

5432.`;

describe('what passed between a role and people', () => {
  const turns = [ask('Which base?', 'I have read it.'), fail, ask('Which port?', 'The base is there.')];

  test('is told in order to an agent without a session, over failed turns and plain resumptions', async () => {
    const { engine, told } = await scene(turns);
    const { thread } = await engine.start({ definition: noRetries, prompt: 'Set it up.' });
    await engine.run(thread);
    await engine.resume(thread, { answer: 'Postgres.' });
    await engine.resume(thread);
    expect(exchangeIn((await engine.context(thread, 'a')).text)).toBe(
      TWO_QUESTIONS.split('\n\n## A person answered\n\n5432')[0],
    );
    await engine.resume(thread, { answer: '5432.' });
    const [first, second, third, fourth, b] = told();
    expect(exchangeIn(first?.prompt ?? '')).toBe('');
    expect(exchangeIn(second?.prompt ?? '')).toBe(
      TWO_QUESTIONS.slice(0, TWO_QUESTIONS.indexOf('\n\n## You stopped\n\n> a failed')),
    );
    expect(exchangeIn(third?.prompt ?? '')).toMatch(
      /Which base\?[^]*Postgres\.[^]*no network[^]*## A person let you go on$/u,
    );
    expect(exchangeIn(fourth?.prompt ?? '')).toBe(TWO_QUESTIONS);
    // It is nothing to another role, and over with the step.
    expect(b).toMatchObject({ role: 'b' });
    expect(b?.prompt).not.toMatch(/Postgres|Which/u);
    // The answer stands as long as the turn that had it only failed.
    expect([first, second, third, fourth].map((turn) => turn?.answer)).toEqual([
      undefined,
      'Postgres.',
      'Postgres.',
      '5432.',
    ]);
  });

  test('is told only as far as its session has not seen it, and whole to another agent or without the session', async () => {
    const { engine, told, other } = await scene([...turns, ask('Which user?', '')], true);
    const { thread } = await engine.start({ definition: noRetries, prompt: 'Set it up.' });
    await engine.run(thread);
    await engine.resume(thread, { answer: 'Postgres.' });
    await engine.resume(thread);
    await engine.resume(thread, { answer: '5432.' });
    const prompts = told();
    expect(prompts.map(({ session }) => session)).toEqual([undefined, ...Array<string>(3).fill('session of a')]);
    expect(prompts.slice(1).map(({ prompt }) => exchangeIn(prompt))).toEqual([
      '## A person answered\n\nPostgres.',
      '## A person let you go on',
      '## A person answered\n\n5432.',
    ]);
    expect(exchangeIn(prompts[3]?.promptWithoutSession ?? '')).toBe(TWO_QUESTIONS);
    await other.resume(thread, { answer: 'root' });
    expect(told()[4]).not.toHaveProperty('session');
    expect(exchangeIn(told()[4]?.prompt ?? '')).toBe(
      `${TWO_QUESTIONS}\n\n## You stopped\n\n> Which user?\n\n## A person answered\n\nroot`,
    );
  });

  test('an agent is told what others did in its role since its session saw the thread last', async () => {
    const { engine, other, told } = await scene([], true);
    const { thread } = await engine.start({ definition, prompt: 'Set it up.' });
    await engine.step(thread, { role: 'a' });
    await other.step(thread, { role: 'a' });
    await engine.step(thread, { role: 'a' });
    expect(told()[2]?.session).toBe('session of a');
    expect(told()[2]?.prompt).toContain('Reply 1.');
    expect(told()[2]?.prompt).not.toContain('Reply 0.');
  });

  test('outlasts a step of another role, and a summary of the thread', async () => {
    const { engine, repository, told } = await scene([ask('Which base?', 'I have read it.'), fail]);
    const { thread } = await engine.start({ definition: noRetries, prompt: 'Set it up.' });
    await engine.run(thread);
    const fork = await forkThread(repository, await getThread(repository, thread));
    await engine.resume(thread, { answer: 'Postgres.' });
    const abort = new AbortController();
    abort.abort();
    const stopped = createEngine({
      repository,
      config: { agents: {}, defaultAgent: 'it', roles: {} },
      signal: abort.signal,
    });
    await expect(stopped.resume(thread, { answer: 'Go on.' })).rejects.toMatchObject({ code: 'interrupted' });
    await engine.step(thread, { role: 'c' });
    expect(told().at(-1)?.prompt).not.toMatch(/Postgres|Go on/u);
    await engine.compact(thread, { text: 'In short.' });
    const { text: preview } = await engine.context(thread, 'a');
    await engine.step(thread, { role: 'a' });
    const last = told().at(-1)?.prompt ?? '';
    expect(last).toBe(preview);
    expect(last).toContain('In short.');
    expect(exchangeIn(last)).toMatch(/Which base\?[^]*I have read it\.[^]*Postgres\.[^]*no network[^]*Go on\.$/u);
    await engine.resume(fork.thread, { answer: 'MySQL.' });
    expect(exchangeIn(told().find(({ prompt }) => prompt.includes('MySQL'))?.prompt ?? '')).toMatch(
      /Which base\?[^]*MySQL\.$/u,
    );
  });

  test('of a step that is done again, the reply and what was said about it are told when that waits', async () => {
    const done = { kind: 'reply', meta: { $status: 'done' }, text: 'My first try.' };
    const { engine, events, told } = await scene([done, ask('How short?', 'Hm.')]);
    const { thread } = await engine.start({ definition, prompt: 'Write.' });
    await engine.step(thread);
    await engine.poke(thread, 'Shorter, please.');
    const waiting = events.findLast(({ event }) => event === 'thread.suspended');
    const id = waiting && 'thread' in waiting ? waiting.thread : '';
    expect(id).not.toBe(thread);
    await engine.resume(id, { answer: 'One line.' });
    expect(exchangeIn(told()[2]?.prompt ?? '')).toMatch(
      /How short\?[^]*- a person said: Shorter, please\.[^]*My first try\.[^]*Hm\.[^]*One line\.$/u,
    );
  });

  test('what is said of an ended thread is no answer: every role is told it, with the task', async () => {
    const { engine, told } = await scene([]);
    const { thread } = await engine.start({ definition, prompt: 'Set it up.' });
    await engine.run(thread);
    await engine.resume(thread, { answer: 'With tests.' });
    const last = told().at(-1);
    expect(last).toMatchObject({ role: 'b', task: 'Set it up.\n\nWith tests.' });
    expect(last).not.toHaveProperty('answer');
    expect(last?.prompt).toContain('# The thread was taken up again\n\nIt had ended after step 2, and a person');
    expect(last?.prompt).toContain('With tests.');
    expect(exchangeIn(last?.prompt ?? '')).toBe('');
  });
});
