import { beforeAll, expect, test } from 'vitest';
import type { EngineFixture } from '../../engine/engine-fixture.ts';
import { createBlockFixture, withBlock } from '../../engine/blocks/block-fixture.ts';
import { visitorOf, type WebVisitor } from '../../helpers/web-visitor.ts';

let fixture: EngineFixture;
let visitor: WebVisitor;
let thread: string;
const pageOf = async (query: string): Promise<string> => (await visitor.get(`/t/${thread}${query}`)).text();

beforeAll(async () => {
  fixture = await createBlockFixture();
  const good = { workflow: 'review', prompt: 'Look.' };
  const branches = { security: good, style: good, tests: { workflow: 'review', prompt: 'ASK' } };
  const definition = await withBlock({ branches, join: 'all' });
  thread = (await fixture.engine.start({ definition, prompt: 'Go.' })).thread;
  await fixture.engine.run(thread);
  visitor = await visitorOf(fixture.repository);
});

test('a thread lists its branches by their keys', async () => {
  expect(await pageOf('')).toMatch(/<\/a> <span[^>]*>ended<\/span> work security\s*<\/li>/);
});

test('branches stand beside each other on the timeline, with their keys', async () => {
  const page = await pageOf('?view=timeline');
  for (const key of ['security', 'style', 'tests']) expect(page).toContain(`>${key}</text>`);
});

test('the graph has the block among the roles', async () => {
  expect(await pageOf('?view=graph')).toMatch(/id="role-work"[^]*a block of branches/);
});

test('a question names its branch, and the branch its caller', async () => {
  const inbox = await visitor.page('/inbox');
  expect(inbox).toContain('The question is that of branch tests, <a');
  // Its caller may wait for several.
  expect(inbox).toMatch(/uwf thread resume (\w+) -p[^]*<\/article>/);
  expect(inbox).not.toContain(`uwf thread resume ${thread} `);
  const [, asking] = /that of branch tests, <a href="([^"]*)"/.exec(inbox) ?? [];
  expect(await (await visitor.get(asking ?? '')).text()).toContain(`branch tests of <a href="/t/${thread}">`);
});

test('the step of a block names its branches', async () => {
  const { engine } = fixture;
  const over = await engine.resume(thread, { answer: 'the answer' });
  expect(over.event).toBe('thread.ended');
  const page = await pageOf('/2');
  for (const key of ['security', 'style', 'tests']) expect(page).toMatch(new RegExp(`<a href="/t/[^"]*">${key}</a>`));
});
