import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/json.ts';
import type { GivenToGoOn } from '../../../src/web/site.ts';
import { readSaid } from '../../../src/thread/read-said.ts';
import { configOf, createFixture, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';
import { notingActions, visitorOf, type WebVisitor } from '../../helpers/web-visitor.ts';
import type { Engine } from '../../../src/engine/engine.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { rulesOf } from '../../helpers/plot.ts';

const planSchema: JsonObject = {
  type: 'object',
  required: ['$status', 'title', 'phases'],
  properties: {
    $status: { const: 'planned' },
    title: { type: 'string', minLength: 3, maxLength: 60 },
    isUrgent: { type: 'boolean' },
    owner: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
    phases: {
      type: 'array',
      minItems: 1,
      items: { type: 'object', required: ['days'], properties: { days: { type: 'integer', minimum: 1 } } },
    },
  },
};

type Asked = {
  engine: Engine;
  repository: Repository;
  visitor: WebVisitor;
  thread: string;
  noted: unknown[][];
  /** The page of the thread, and its form. */
  page(): Promise<string>;
  send(fields: Record<string, string>): Promise<Response>;
};

/** A thread of one role that waits, and a visitor of its page. */
async function asked(schema: JsonObject, { isHuman = true, canWrite = true, limits = {} } = {}): Promise<Asked> {
  const config = isHuman
    ? configOf({ planner: { package: 'builtin:human', config: {} } })
    : scripted({ planner: [{ suspend: 'A or B?', reply: '---\n$status: planned\n---\nI use {{answer}}' }] });
  const { repository, engine } = await createFixture(config);
  const rules = rulesOf(['start > planner: What is the plan?', 'planner > end']);
  const definition = workflow('plan', { planner: schema }, rules, { limits });
  const { thread } = await engine.start({ definition, prompt: 'Plan it' });
  await engine.run(thread);
  const noted: unknown[][] = [];
  const visitor = await visitorOf(repository, canWrite ? { actions: notingActions(noted) } : {});
  const page = async (): Promise<string> => (await visitor.get(`/t/${thread}`)).text();
  const send = async (fields: Record<string, string>): Promise<Response> => {
    const hidden = [...(await page()).matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const own = Object.fromEntries(hidden.map(([, name = '', value = '']) => [name, value]));
    return visitor.post(`/t/${thread}/resume`, { ...own, ...fields });
  };
  return { engine, repository, visitor, thread, noted, page, send };
}

/** The meta with which a thread ends when it gets what the page has given. */
async function metaAfter({ engine, repository, thread, noted }: Asked): Promise<JsonObject | null | undefined> {
  const [, , given] = noted[0] ?? [];
  await engine.resume(thread, given as GivenToGoOn);
  return (await readSaid(repository, thread)).findLast(({ kind }) => kind === 'step')?.meta;
}

describe('a form of a nested schema', () => {
  test('becomes the reply', async () => {
    const form = await asked(planSchema);
    const page = await form.page();
    for (const name of ['/title', '/phases/0/days', '/owner/name', '/isUrgent'])
      expect(page).toContain(`name="${name}"`);
    expect(page).not.toContain('name="/%24status"');
    const fields = { '/title': 'The "plan": a, b', '/phases/1/days': '3', '/isUrgent': 'no', answer: 'As said.' };
    const response = await form.send(fields);
    expect([response.status, response.headers.get('location')]).toEqual([303, `/t/${form.thread}`]);
    expect(await metaAfter(form)).toEqual({
      $status: 'planned',
      title: 'The "plan": a, b',
      isUrgent: false,
      phases: [{ days: 3 }],
    });
  });

  test('refuses what the schema refuses, with the words at the field, and keeps what was typed', async () => {
    const form = await asked(planSchema);
    const response = await form.send({ '/title': 'x<', '/phases/0/days': 'two', answer: 'As <said>.' });
    expect(response.status).toBe(422);
    const page = await response.text();
    for (const [name, words] of [
      ['/title', 'must have at least 3 characters'],
      ['/phases/0/days', 'must be an integer'],
    ]) {
      const [, id] =
        new RegExp(`name="${name}"[^>]* aria-describedby="([^"]*):refusal" aria-invalid="true"`).exec(page) ?? [];
      expect(id).toMatch(new RegExp(`${form.thread}-\\w+${name}$`));
      expect(page).toContain(`id="${id?.split(' ').at(-1)}:refusal">${words}</p>`);
    }
    for (const typed of ['x&lt;', 'two', 'As &lt;said&gt;.']) expect(page).toContain(typed);
    expect(form.noted).toEqual([]);
  });

  test('says what is missing at the field that was left empty', async () => {
    const form = await asked(planSchema);
    const page = await (await form.send({ '/phases/0/days': '1' })).text();
    expect(page).toMatch(/id="[^"]*\/title:refusal">is missing<\/p>/);
  });

  test('grows by a row, and keeps what was typed', async () => {
    const form = await asked(planSchema);
    expect(await form.page()).not.toContain('name="/phases/2/days"');
    const page = await (await form.send({ '/phases/1/days': '7', row: '/phases' })).text();
    expect(page).toContain('name="/phases/2/days"');
    expect(page).toMatch(/value="7" id="[^"]*\/phases\/0\/days"/);
    expect(form.noted).toEqual([]);
  });
});

test('alternatives have fields of their own, of which those of the chosen one are read', async () => {
  const variant = (status: string, more: JsonObject): JsonObject => ({
    required: ['$status', ...Object.keys(more)],
    properties: { $status: { const: status }, ...more },
  });
  const text: JsonObject = { type: 'string' };
  const form = await asked({
    type: 'object',
    oneOf: [variant('kept', {}), variant('moved', { where: text, why: text }), variant('dropped', { why: text })],
  });
  await form.send({ '/%24status': 'dropped', '?moved/why': 'one', '?dropped/why': 'another' });
  expect(await metaAfter(form)).toEqual({ $status: 'dropped', why: 'another' });
});

test('one choice is a row of buttons', async () => {
  const form = await asked(statuses('approved', 'rejected'));
  expect(await form.page()).toMatch(/<button[^>]* name="\/%24status" value="rejected">rejected<\/button>/);
  await form.send({ '/%24status': 'rejected', answer: '' });
  expect(await metaAfter(form)).toEqual({ $status: 'rejected' });
});

test('the question of an agent is answered with words, and not without', async () => {
  const form = await asked(statuses('planned'), { isHuman: false });
  const response = await form.send({ answer: ' ' });
  expect(response.status).toBe(422);
  expect(await response.text()).toContain('aria-invalid="true"');
  await form.send({ answer: 'B' });
  expect(form.noted.map(([name, , given]) => [name, given])).toEqual([['resume', { answer: 'B\n' }]]);
});

describe('of two that answer', () => {
  test('the second is told, and what they typed is shown', async () => {
    const form = await asked(planSchema);
    const { engine, thread, visitor, noted } = form;
    const token = await visitor.formToken(`/t/${thread}`);
    const { head } = await engine.describe(thread);
    await engine.resume(thread, { answer: '---\n$status: planned\ntitle: One\nphases: [{days: 1}]\n---\n' });
    const late = { form: token, head, asked: `${thread}@${head}`, '/title': 'Two <b>', answer: 'Mine.' };
    const response = await visitor.post(`/t/${thread}/resume`, late);
    expect(response.status).toBe(409);
    const page = await response.text();
    for (const typed of ['Two &lt;b&gt;', 'Mine.']) expect(page).toContain(typed);
    expect(page).not.toContain(token);
    expect(noted).toEqual([]);
  });

  test('a form that names no head changes nothing', async () => {
    const { thread, visitor, noted } = await asked(planSchema);
    const form = await visitor.formToken(`/t/${thread}`);
    for (const act of ['resume', 'poke', 'cancel']) {
      expect((await visitor.post(`/t/${thread}/${act}`, { form, word: 'x', answer: 'x' })).status).toBe(409);
    }
    expect(noted).toEqual([]);
  });
});

test('a limit is raised by what the form says, which begins with what is missing', async () => {
  const { engine, repository } = await createFixture(scripted({ planner: [{ reply: '---\n$status: on\n---\n' }] }));
  const rules = rulesOf(['planner', { from: 'planner', to: 'planner', when: '$count($steps) < 9' }, 'planner > end']);
  const definition = workflow('loop', { planner: statuses('on') }, rules, { limits: { maxSteps: 1 } });
  const { thread } = await engine.start({ definition, prompt: 'Loop' });
  await engine.run(thread);
  const noted: unknown[][] = [];
  const visitor = await visitorOf(repository, { actions: notingActions(noted) });
  const page = await visitor.page('/inbox');
  expect(page).toMatch(/value="1" id="[^"]*\/maxSteps"/);
  const { head } = await engine.describe(thread);
  const own = { form: await visitor.formToken('/inbox'), head, asked: `${thread}@${head}` };
  expect((await visitor.post(`/t/${thread}/resume`, { ...own, '/maxSteps': '-1' })).status).toBe(422);
  await visitor.post(`/t/${thread}/resume`, { ...own, '/maxSteps': '3', '/maxCostUsd': '0.5' });
  expect(noted.map(([, , given]) => given)).toEqual([{ more: { maxSteps: 3, maxCostUsd: 0.5 } }]);
});

describe('a page that only shows', () => {
  test.each<[string, JsonObject, string]>([
    ['a choice', statuses('approved', 'rejected'), '-p rejected'],
    ['a form', planSchema, '-F - &lt;&lt;&#39;EOF&#39;\n---\n$status: planned'],
  ])('has the command that answers %s', async (_, schema, command) => {
    const { thread, page } = await asked(schema, { canWrite: false });
    const html = await page();
    expect(html).toContain(`uwf thread resume ${thread} ${command}`);
    expect(html).not.toContain('<textarea');
  });
});
