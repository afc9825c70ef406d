import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createFixture, reply, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';
import { resolveWorkflow } from '../../../src/workflow/load/resolve-workflow.ts';
import { notingActions, visitorOf, type WebVisitor } from '../../helpers/web-visitor.ts';
import { rulesOf } from '../../helpers/plot.ts';

type Ready = { visitor: WebVisitor; thread: string; head: string; form: string; noted: unknown[][] };

/** A thread that has done a step and could do another one. */
async function ready(): Promise<Ready> {
  const { repository, engine, dir } = await createFixture(scripted({ coder: [reply('done')] }));
  mkdirSync(join(dir, '.uwf/workflows'), { recursive: true });
  writeFileSync(join(dir, '.uwf/workflows/build.yaml'), 'name: build\n');
  const rules = rulesOf(['coder', { from: 'coder', to: 'coder', when: '$count($steps) < 2' }, 'coder > end']);
  const definition = workflow('code', { coder: statuses('done') }, rules);
  const { thread } = await engine.start({ definition, prompt: 'Code it' });
  const { head } = await engine.step(thread);
  const noted: unknown[][] = [];
  const visitor = await visitorOf(repository, { actions: notingActions(noted) });
  return { visitor, thread, head, form: await visitor.formToken(`/t/${thread}`), noted };
}

test('each form of a thread does what it says', async () => {
  const { visitor, thread, head, form, noted } = await ready();
  const send = (act: string, fields: Record<string, string>): Promise<Response> =>
    visitor.post(`/t/${thread}/${act}`, { form, ...fields });
  await send('resume', { head });
  await send('poke', { head, word: 'Shorter\r\nplease' });
  const fork = await send('fork', { step: '1' });
  await send('fork', { step: '' });
  const asked = await send('ask', { question: 'Why <i>?', step: '1' });
  await send('cancel', { head, reason: '' });
  await send('stop', {});
  expect(noted).toEqual([
    ['resume', thread, {}, head, []],
    ['poke', thread, 'Shorter\nplease', head],
    ['fork', thread, 1],
    ['fork', thread, undefined],
    ['ask', thread, 'Why <i>?', 1],
    ['cancel', thread, undefined],
    ['stop', thread],
  ]);
  expect(fork.headers.get('location')).toMatch(/^\/t\/01KAM4/);
  const page = await asked.text();
  expect(page).toContain('Because.');
  expect(page).toContain('Why &lt;i&gt;?');
});

test('a form in which nothing was typed, or no number, does nothing', async () => {
  const { visitor, thread, head, form, noted } = await ready();
  for (const [act, fields] of [
    ['poke', { word: ' ' }],
    ['ask', { question: '' }],
    ['fork', { step: 'last' }],
  ] as const) {
    expect((await visitor.post(`/t/${thread}/${act}`, { form, head, ...fields })).status).toBe(400);
  }
  expect(noted).toEqual([]);
});

test('the address of a form leads to its thread', async () => {
  const { visitor, thread } = await ready();
  const response = await visitor.get(`/t/${thread}/resume`);
  expect([response.status, response.headers.get('location')]).toEqual([303, `/t/${thread}`]);
});

test('a thread is started of a workflow that has a name, and of no path', async () => {
  const { visitor, form, noted } = await ready();
  expect(await (await visitor.get('/start')).text()).toContain('<option value="build"');
  for (const workflow of ['.uwf/workflows/build.yaml', '../x.yaml', 'none', '']) {
    const response = await visitor.post('/start', { form, workflow, prompt: 'Build <it>' });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain('Build &lt;it&gt;');
  }
  expect((await visitor.post('/start', { form, workflow: 'build', prompt: ' ' })).status).toBe(422);
  expect((await visitor.post('/start', { workflow: 'build', prompt: 'x' })).status).toBe(403);
  expect(noted).toEqual([]);
  expect((await visitor.post('/start', { form, workflow: 'build', prompt: 'Build it' })).status).toBe(303);
  expect(noted).toEqual([['start', 'build', 'Build it']]);
});

test('what an action refuses is told with what was typed', async () => {
  const { visitor, thread, head, form } = await ready();
  const response = await visitor.post(`/t/${thread}/poke`, {
    form,
    head: head.replaceAll(/./g, '0'),
    word: 'A long word',
  });
  expect(response.status).toBe(409);
  expect(await response.text()).toContain('A long word');
});

test('a mistake in a workflow file is the user’s, and no failure of the server', async () => {
  const { repository, dir } = await createFixture(scripted({}));
  mkdirSync(join(dir, '.uwf/workflows'), { recursive: true });
  writeFileSync(join(dir, '.uwf/workflows/build.yaml'), 'name: build\n');
  const start = async (workflow: string): Promise<never> => {
    await resolveWorkflow(repository, workflow, { cwd: dir });
    throw new Error('the workflow is not broken');
  };
  const visitor = await visitorOf(repository, { actions: { ...notingActions([]), start } });
  const form = await visitor.formToken('/start');
  const response = await visitor.post('/start', { form, workflow: 'build', prompt: 'Build it' });
  expect(response.status).toBe(400);
  expect(await response.text()).toContain('uwf workflow validate');
});
