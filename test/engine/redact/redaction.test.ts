import { expect, test } from 'vitest';
import type { AgentEvent } from '../../../src/agent/contract.ts';
import { readThreadCommit } from '../../../src/thread/thread-commit.ts';
import { allWritten, formsOf, placesOf } from '../../helpers/all-written.ts';
import { installReportingAgent, reportingConfig, type Act } from '../../helpers/reporting-agent.ts';
import { createFixture, reply, workflow } from '../engine-fixture.ts';

const secret = 'Xk9#vQ2/plover+Lm7=zR';
const env = { PATH: process.env['PATH'], DEPLOY_TOKEN: secret };

const definition = workflow(
  'w',
  {
    a: {
      type: 'object',
      properties: { $status: { enum: ['done', 'bad'] }, note: { type: 'string' }, list: {} },
      required: ['$status'],
    },
  },
  'a > end',
);

/** What an agent may report, with a secret in every place. */
function events(said: string): Act[] {
  const all: AgentEvent[] = [
    { kind: 'turn-start', input: `told ${said}` },
    { kind: 'thought', text: `I think of ${said}.` },
    { kind: 'plan', text: `use ${said}` },
    { kind: 'tool-call', id: said, name: `call ${said}`, arguments: { [said]: [said], text: `x${said}` } },
    { kind: 'tool-result', id: said, result: `got ${said}\n`, durationMs: 1 },
    { kind: 'refusal', text: `not ${said}` },
    { kind: 'text', text: `I say ${said}.` },
    { kind: 'turn-end', usage: { inputTokens: 1, outputTokens: 1, turns: 1 } },
  ];
  return all.map((event) => ({ emit: event }));
}

const replyWith = (said: string): Act => ({
  reply: {
    kind: 'reply',
    text: `# ${said}\n\nIt is ${said}.\n`,
    meta: { $status: 'done', note: said, list: [{ [said]: `a ${said}` }] },
    session: `session ${said}`,
    agentVersion: `1 ${said}`,
    stopReason: said,
  },
});

test.each(Object.entries(formsOf(secret)))('nothing of a run has a known value as %s', async (_form, said) => {
  const refused: Act = { reply: { kind: 'failed-attempt', reason: `broke: ${said}`, text: `half ${said}` } };
  const wrong: Act = { reply: { kind: 'reply', text: `---\n$status: ${said}\n---\n${said}` } };
  const asks: Act = { reply: { kind: 'suspend', cause: 'agent', reason: `what of ${said}?`, text: said } };
  const fixture = await createFixture(
    reportingConfig({
      a: [
        [...events(said), refused],
        [...events(said), wrong],
        [...events(said), asks],
      ],
      b: [[...events(said), replyWith(said)]],
    }),
    { env },
  );
  installReportingAgent(fixture.dir);
  const { engine, dir, events: told } = fixture;
  const { thread } = await engine.start({ definition, prompt: `Deploy with ${said}.` });
  expect((await engine.run(thread)).event).toBe('thread.suspended');
  const over = await engine.resume(thread, { answer: `Take ${said}.` });
  expect(over.event).toBe('thread.suspended');
  await engine.cancel(thread, { reason: `no more ${said}` });
  expect(placesOf([secret], allWritten(dir))).toEqual([]);
  expect(JSON.stringify(told)).not.toContain(JSON.stringify(said).slice(1, -1));
});

test('a secret in a step is counted, told by its rule, and equal secrets stay equal', async () => {
  const fixture = await createFixture(reportingConfig({ a: [[...events(secret), replyWith(secret)]] }), { env });
  installReportingAgent(fixture.dir);
  const { engine, repository, git, events: told } = fixture;
  const { thread } = await engine.start({ definition, prompt: `Deploy with ${secret}.` });
  const over = await engine.run(thread);
  expect(over.event).toBe('thread.ended');
  const step = await readThreadCommit(repository, git('rev-parse', `${over.head}^`) as never);
  if (step.kind !== 'step') throw new Error(`a ${step.kind} came of it`);
  expect(step.node.redacted).toMatchObject({ count: 1 });
  const mark = step.node.meta['note'] as string;
  expect(mark).toMatch(/^‹redacted:known:[0-9a-f]{8}›$/u);
  expect(step.node.meta).toEqual({ $status: 'done', note: mark, list: [{ [mark]: `a ${mark}` }] });
  expect(git('show', `${step.id}:output.md`)).toBe(`# ${mark}\n\nIt is ${mark}.`);
  expect(git('show', `${step.id}:prompt.md`)).toContain(`Deploy with ${mark}.`);
  expect(told).toContainEqual({ event: 'secrets.redacted', thread, role: null, rules: { known: 1 } });
  expect(told).toContainEqual({ event: 'secrets.redacted', thread, role: 'a', rules: { known: 1 } });
  expect(placesOf([secret], allWritten(fixture.dir))).toEqual([]);
});

test('a secret is found wherever what is said is cut', async () => {
  const pieces = (kind: 'text' | 'thought', at: number): Act[] => [
    { emit: { kind, text: `x ${secret.slice(0, at)}` } },
    { emit: { kind: 'tool-call', id: `${kind}${at}`, name: 'look', arguments: {} } },
    { emit: { kind, text: `${secret.slice(at)} y` } },
    { emit: { kind: 'tool-result', id: `${kind}${at}`, result: '', durationMs: 1 } },
  ];
  const acts = Array.from({ length: secret.length - 1 }, (_, at) => [
    ...pieces('text', at + 1),
    ...pieces('thought', at + 1),
  ]);
  const each = Array.from(secret).map((text): Act => ({ emit: { kind: 'text', text } }));
  const fixture = await createFixture(
    reportingConfig({ a: [[...acts.flat(), ...each, { reply: { kind: 'reply', text: reply('done') } }]] }),
    { env },
  );
  installReportingAgent(fixture.dir);
  const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
  expect((await fixture.engine.run(thread)).event).toBe('thread.ended');
  expect(placesOf([secret], allWritten(fixture.dir))).toEqual([]);
});

test('what a schema names is not touched, and a meta without its secret is judged as it is', async () => {
  const named = workflow(
    'w',
    { a: { type: 'object', properties: { $status: { enum: [secret] }, [secret]: {} } } },
    'a > end',
  );
  const meta = { $status: secret, [secret]: 'x' };
  const config = reportingConfig({ a: [[{ reply: { kind: 'reply', text: 'x', meta } }]] });
  const fixture = await createFixture(config, { env });
  installReportingAgent(fixture.dir);
  const { thread } = await fixture.engine.start({ definition: named, prompt: 'x' });
  expect((await fixture.engine.run(thread)).event).toBe('thread.ended');

  const strict = workflow('v', { a: { type: 'object', properties: { $status: {}, n: { maxLength: 22 } } } }, 'a > end');
  const other = await createFixture(
    reportingConfig({ a: [[{ reply: { kind: 'reply', text: 'x', meta: { $status: 'done', n: secret } } }]] }),
    { env },
  );
  installReportingAgent(other.dir);
  const second = await other.engine.start({ definition: strict, prompt: 'x' });
  const over = await other.engine.run(second.thread);
  expect(over).toMatchObject({ event: 'thread.suspended', cause: 'invalid-reply' });
});

test('null switches it off', async () => {
  const fixture = await createFixture(reportingConfig({ a: [[replyWith(secret)]] }), { env, redactor: null });
  installReportingAgent(fixture.dir);
  const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
  const over = await fixture.engine.run(thread);
  expect(over.event).toBe('thread.ended');
  expect(fixture.git('show', `${over.head}^:output.md`)).toContain(secret);
});
