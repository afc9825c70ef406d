import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createFixture, reply, scripted, statuses, workflow, type EngineFixture } from '../../engine/engine-fixture.ts';
import type { WebOptions } from '../../../src/web/site.ts';
import { createRedactor } from '../../../src/redaction/create-redactor.ts';
import { notingActions, visitorOf, type WebVisitor } from '../../helpers/web-visitor.ts';

const definition = workflow('w', { coder: statuses('again', 'done') }, 'coder [again] > coder > end');

type Shown = { fixture: EngineFixture; thread: string; visitor: WebVisitor };

/** A thread of which one step was taken for each set of files, which an agent could have written. */
async function shown(
  replies: Parameters<typeof scripted>[0]['coder'],
  files: readonly Record<string, string | Buffer>[],
  options: Partial<WebOptions> = {},
): Promise<Shown> {
  const fixture = await createFixture({ ...scripted({ coder: replies ?? [] }), snapshot: { mode: 'on' } });
  const { thread } = await fixture.engine.start({ definition, prompt: 'Write <b>it</b>.' });
  for (const written of files) {
    for (const [name, content] of Object.entries(written)) writeFileSync(join(fixture.dir, name), content);
    await fixture.engine.step(thread);
  }
  const env = { PATH: process.env['PATH'] };
  return { fixture, thread, visitor: await visitorOf(fixture.repository, { env, ...options }) };
}

async function textOf(visitor: WebVisitor, path: string): Promise<string> {
  const response = await visitor.get(path);
  expect(response.status).toBe(200);
  return response.text();
}

describe('the page of a step', () => {
  test('shows the lines that differ from the step before, and leads to its neighbours and back', async () => {
    const replies = [reply('again'), reply('again', 'The *second* try.'), reply('done')];
    const { thread, visitor } = await shown(replies, [
      { 'a.txt': 'one\ntwo\nthree\n' },
      { 'a.txt': 'one\n<script>2</script>\nthree\n' },
      { 'b.bin': Buffer.from([0, 1, 2, 255]) },
    ]);
    const page = await textOf(visitor, `/t/${thread}/2`);
    expect(page).toContain('The <em>second</em> try.');
    expect(page).toContain('Compared with what step 1 left.');
    expect(page).toMatch(/<del data-line="2">−two\n<\/del>/);
    expect(page).toMatch(/<ins data-line="2">\+&lt;script&gt;2&lt;\/script&gt;\n<\/ins>/);
    expect(page).toContain(`href="/t/${thread}/1"`);
    expect(page).toContain(`href="/t/${thread}/3"`);
    expect(page).toContain(`href="/t/${thread}#step-2"`);
    expect(await textOf(visitor, `/t/${thread}/3`)).toContain('not text');
    const [, hash] = /id="hash"[^>]*value="(\w+)"/.exec(page) ?? [];
    expect(await textOf(visitor, `/t/${thread}/${hash}`)).toBe(page);
  });

  test('is that of another state once its thread has changed, so that an open one is loaded again', async () => {
    const { thread, visitor, fixture } = await shown([reply('again'), reply('done')], [{ 'a.txt': 'one\n' }]);
    const live = new RegExp(`data-topic="${thread}" data-state="\\w+"`);
    const [before] = live.exec(await textOf(visitor, `/t/${thread}/1`)) ?? [];
    expect(before).toBeDefined();
    await fixture.engine.step(thread);
    const page = await textOf(visitor, `/t/${thread}/1`);
    expect(page).toMatch(live);
    expect(page).not.toContain(before);
  });

  test('cuts a long reply and a long file, and says how to get all of them', async () => {
    const lines = Array.from({ length: 5000 }, (_, line) => `line ${line}`).join('\n');
    const { thread, visitor } = await shown(
      [reply('again'), reply('done', 'x'.repeat(1_000_000))],
      [{ 'a.txt': 'none\n' }, { 'a.txt': lines, 'b.txt': lines, 'large.txt': 'y'.repeat(300_000) }],
    );
    const page = await textOf(visitor, `/t/${thread}/2`);
    expect(page.length).toBeLessThan(250_000);
    expect(page).toMatch(/The first 100,000 of 1,000,\d+ characters are shown/);
    expect(page).toContain('uwf step read ');
    expect(page).toContain('too much differs for a page');
    expect(page).toContain('4,500 more lines');
    expect(page).toContain('too large for a page');
    expect(page).toContain('git diff ');
  });

  test('shows replies that were not accepted, and a turn that was suspended has the same page', async () => {
    const { thread, visitor } = await shown(['---\n$status: perhaps\n---\nI do not know.\n'], [{}]);
    const story = await textOf(visitor, `/t/${thread}`);
    const [, turn] = new RegExp(`href="/t/${thread}/(\\w+)"`).exec(story) ?? [];
    const page = await textOf(visitor, `/t/${thread}/${turn}`);
    expect(page).toContain('coder, suspended');
    expect(page).toContain('Reply 1: ');
    expect(page).toContain('I do not know.');
    expect(page).toContain(`href="/t/${thread}#${turn}"`);
  });

  test('is not there for a step that the thread does not have', async () => {
    const { thread, visitor } = await shown([reply('again')], [{}]);
    expect((await visitor.get(`/t/${thread}/7`)).status).toBe(404);
    expect((await visitor.get(`/t/${thread}/ZZZZ`)).status).toBe(404);
    expect((await visitor.get(`/t/${thread}/%3Cscript%3E`)).status).toBe(404);
    expect((await visitor.get(`/t/${thread}/1?turns=9`)).status).toBe(200);
  });

  test('has a form that makes a fork behind the step', async () => {
    const noted: unknown[][] = [];
    const { thread, visitor } = await shown([reply('again'), reply('again')], [{}, {}], {
      actions: notingActions(noted),
    });
    const page = await textOf(visitor, `/t/${thread}/1`);
    const form = page.slice(page.indexOf(`action="/t/${thread}/fork"`));
    const fields = [...form.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)"/g)];
    const sent = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
    expect((await visitor.post(`/t/${thread}/fork`, sent)).status).toBe(303);
    expect(noted).toEqual([['fork', thread, 1]]);
  });

  test('marks what a push would refuse for its secrets, in texts and files, by places and rules', async () => {
    const known = ['tulips-in-amsterdam-1638'];
    const redactor = createRedactor({ key: new Uint8Array(32), known, rules: [], allow: [] });
    const replies = [reply('again', `The key is ${known[0]}.`), reply('done', 'Nothing to see.')];
    const files = [{ 'b.txt': 'base\n', 'a.txt': `one\n${known[0]}\n` }, { 'b.txt': 'clean\n' }];
    const { thread, visitor } = await shown(replies, files, { redactor });
    const first = await textOf(visitor, `/t/${thread}/1`);
    expect(first).toContain('<code>uwf push</code> refuses the thread');
    expect(first).toContain(`<code>uwf thread redact ${thread}</code>`);
    expect(first).toMatch(/<li>[^<]*a\.txt line 2 \(known\)<\/li>/);
    // Its agent was told what the first step said.
    expect(await textOf(visitor, `/t/${thread}/2`)).toMatch(/<li>prompt\.md line \d+ \(known\)<\/li>/);
    const story = await textOf(visitor, `/t/${thread}`);
    expect(story.match(/class="refusal secrets"/g)).toHaveLength(1);
  });

  test('and the inbox show what the last step did to the files', async () => {
    const last = { suspend: 'Which?', reply: reply('done') };
    const { thread, fixture, visitor } = await shown(
      [reply('again'), reply('again'), last],
      [{ 'a.txt': 'one\n' }, { 'a.txt': 'two <b>\n' }, {}],
    );
    expect(await fixture.engine.describe(thread)).toMatchObject({ status: 'suspended' });
    const inbox = await visitor.page('/inbox');
    expect(inbox).toContain('1 file changed in it');
    expect(inbox).toContain('+two &lt;b&gt;');
  });
});
