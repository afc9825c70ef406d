import { expect, test } from 'vitest';
import { configOf, createFixture, scripted, statuses, workflow } from '../../engine/engine-fixture.ts';
import { visitorOf } from '../../helpers/web-visitor.ts';
import { rulesOf } from '../../helpers/plot.ts';

const rules = rulesOf(['writer', { from: 'writer', to: 'writer', when: '$count($steps) < 20' }, 'writer > end']);

test('of many long replies a page has the newest whole, and of the others the beginning and where the whole text is', async () => {
  const long = (number: number): string => `**Reply ${number}** <b> ${'long '.repeat(16_000)}the end of ${number}`;
  const replies = Array.from({ length: 20 }, (_, index) => `---\n$status: on\n---\n${long(index + 1)}`);
  const { repository, engine } = await createFixture(scripted({ writer: replies }));
  const definition = workflow('long', { writer: statuses('on') }, rules);
  const { thread } = await engine.start({ definition, prompt: 'Write much' });
  await engine.run(thread);
  const visitor = await visitorOf(repository);
  const page = await visitor.page(`/t/${thread}`);
  expect(page.length).toBeLessThan(800_000);
  for (const shown of ['<strong>Reply 20</strong>', 'the end of 20', '**Reply 1** &lt;b&gt;'])
    expect(page).toContain(shown);
  expect(page).not.toContain('the end of 1<');
  const [whole = ''] = page.match(/\/t\/[^"]+\/text/) ?? [];
  const response = await visitor.get(whole);
  expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
  expect(await response.text()).toBe(long(1));
});

test('an answer shows its fields as fields, and its words as Markdown', async () => {
  const { repository, engine } = await createFixture(configOf({ writer: { package: 'builtin:human', config: {} } }));
  const definition = workflow('ask', { writer: statuses('yes', 'no') }, 'writer > end');
  const { thread } = await engine.start({ definition, prompt: 'Ask' });
  await engine.run(thread);
  await engine.resume(thread, { answer: '---\n$status: yes\n---\n\nGo *on*.\n' });
  const visitor = await visitorOf(repository);
  const page = await visitor.page(`/t/${thread}`);
  const story = page.slice(page.indexOf('<ol class="story"'), page.indexOf('</ol>'));
  expect(story).not.toMatch(/<hr|<h2>\$status|template/);
  expect(story.match(/<dt>\$status<\/dt><dd>yes<\/dd>/g)).toHaveLength(2);
  expect(story).toContain('Go <em>on</em>.');
});

test('what a limit was raised by stands where it was raised', async () => {
  const { repository, engine } = await createFixture(scripted({ writer: Array(3).fill('---\n$status: on\n---\n') }));
  const limits = { maxSteps: 1 };
  const definition = workflow('loop', { writer: statuses('on') }, rules, { limits });
  const { thread } = await engine.start({ definition, prompt: 'Loop' });
  await engine.run(thread);
  await engine.resume(thread, { more: { maxSteps: 2 } });
  const page = await (await visitorOf(repository)).page(`/t/${thread}`);
  expect(page).toContain('allowed 2 more steps of the thread');
});
