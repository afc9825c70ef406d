import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  closeBrowserAfterwards,
  createPageRepository,
  hide,
  isWithoutBrowser,
  logIn,
  openProfile,
} from './browser-fixture.ts';
import { startLiveProxy } from './live-proxy.ts';
import { eventually, isMarked, mark, notedDelays, noteWords } from './page-look.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

describe.skipIf(isLeftOut)('an open page', () => {
  test('shows a thread of another terminal, its words as they are said, and its end, without a reload', async ({
    annotate,
  }) => {
    const repository = createPageRepository();
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    await mark(page);
    const run = repository.run('run', 'talk', '-p', 'Say something');
    await page.getByRole('link', { name: 'Say something' }).waitFor();
    expect(await isMarked(page)).toBe(true);
    await page.getByRole('link', { name: 'Say something' }).click();
    await page.locator('#turn .part').first().waitFor();
    await mark(page);
    await noteWords(page);
    await page.locator('.status-ended').waitFor();
    expect(await isMarked(page)).toBe(true);
    expect((await run).code).toBe(0);
    const delays = await notedDelays(page);
    expect(delays.length).toBeGreaterThan(5);
    // Said, not judged: another process may have the machine. `--reporter=verbose` shows it.
    await annotate(`words on the page after ${delays[delays.length >> 1]} ms (median), ${delays.at(-1)} ms (longest)`);
    const said = await page.locator('.entry .said').last().textContent();
    expect([...(said ?? '').matchAll(/w(\d+)@/g)].map(([, word]) => Number(word))).toEqual([...Array(40).keys()]);
  });

  test('of seven tabs makes one connection, and each is told', async () => {
    const repository = createPageRepository();
    const behind = await repository.serve();
    for (const hasWorker of [true, false]) {
      const proxy = await startLiveProxy(behind);
      const profile = await openProfile();
      if (!hasWorker) await profile.addInitScript('delete globalThis.SharedWorker');
      const first = await logIn(profile, proxy.server);
      const tabs = [first, ...(await Promise.all(Array.from({ length: 6 }, () => profile.newPage())))];
      for (const tab of tabs.slice(1)) await tab.goto(`${proxy.server.origin}/`);
      const name = `Seen by all ${hasWorker}`;
      await repository.run('run', 'ask', '-p', name);
      for (const tab of tabs) await tab.getByRole('link', { name }).waitFor();
      expect(proxy.streams).toBe(1);
      if (hasWorker) continue;
      // The tab that leads is closed: another one leads.
      await first.close();
      await repository.run('run', 'ask', '-p', 'Seen by the others');
      for (const tab of tabs.slice(1)) await tab.getByRole('link', { name: 'Seen by the others' }).waitFor();
      expect(proxy.streams).toBe(1);
    }
  });

  test('tries ever more rarely while the server is away', async ({ annotate }) => {
    const proxy = await startLiveProxy(await createPageRepository().serve());
    await logIn(await openProfile(), proxy.server);
    await eventually(async () => expect(proxy.streams).toBe(1));
    // Long enough to be no failed try itself.
    await sleep(4_000);
    const before = proxy.tries;
    proxy.refuse();
    await sleep(12_000);
    // After 0.5 s, 1 s, 2 s, 4 s and 8 s, give or take a quarter. A browser makes up to two connections for each.
    const tries = proxy.tries - before;
    await annotate(`${tries} connections tried in 12 s`);
    expect(tries).toBeGreaterThan(1);
    expect(tries).toBeLessThan(14);
  });

  test('catches up when a proxy swallowed its connection silently', async () => {
    const repository = createPageRepository();
    const proxy = await startLiveProxy(await repository.serve());
    const page = await logIn(await openProfile(), proxy.server);
    await mark(page);
    await eventually(async () => expect(proxy.streams).toBe(1));
    proxy.swallow();
    await repository.run('run', 'ask', '-p', 'Said into nothing');
    await page.getByRole('link', { name: 'Said into nothing' }).waitFor({ timeout: 90_000 });
    expect(await isMarked(page)).toBe(true);
  });

  test('counts in its title what waits, and hears no words, while it is hidden', async () => {
    const repository = createPageRepository({ count: 30, everyMs: 50 });
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    const run = repository.run('run', 'talk', '-p', 'Say something');
    await page.getByRole('link', { name: 'Say something' }).click();
    await page.locator('#turn .part').first().waitFor();
    await hide(page, true);
    await sleep(300);
    const before = await page.locator('#turn').textContent();
    await repository.run('run', 'ask', '-p', 'A question');
    await eventually(async () => expect(await page.title()).toMatch(/^\(1\) /));
    expect(await page.locator('#turn').textContent()).toBe(before);
    await run;
    await hide(page, false);
    await page.locator('.status-ended').waitFor();
  });

  test('keeps an answer that is being written while the page changes', async () => {
    const repository = createPageRepository();
    const server = await repository.serve();
    await repository.run('run', 'ask', '-p', 'First');
    const page = await logIn(await openProfile(), server);
    await page.goto(`${server.origin}/inbox`);
    await page.getByRole('textbox', { name: 'Answer' }).fill('half an ans');
    await page.getByRole('heading', { level: 1 }).click();
    await repository.run('run', 'ask', '-p', 'Second');
    await page.getByRole('link', { name: 'Second' }).waitFor();
    expect(await page.locator('article', { hasText: 'First' }).locator('textarea').inputValue()).toBe('half an ans');
    expect(await page.locator('article', { hasText: 'Second' }).locator('textarea').inputValue()).toBe('');
  });

  test('keeps an answer that is being written when the thread is removed', async () => {
    const repository = createPageRepository();
    const server = await repository.serve();
    await repository.run('run', 'ask', '-p', 'A question');
    const [thread] = await repository.threads();
    const page = await logIn(await openProfile(), server);
    await page.goto(`${server.origin}/t/${thread?.thread}`);
    const answer = page.getByRole('textbox', { name: 'Answer' });
    await answer.fill('half an ans');
    await repository.run('thread', 'rm', thread?.thread ?? '', '--force');
    await page.locator('.answer .stale', { hasText: 'has gone on' }).waitFor();
    expect(await answer.inputValue()).toBe('half an ans');
  });

  test('gives no answer that is being written to the next question of the thread', async () => {
    const repository = createPageRepository();
    const asker = '{ description: d, systemPrompt: s, schema: { type: object } }';
    repository.write(
      '.uwf/workflows/twice.yaml',
      `name: twice
description: asks twice
roles: { asker: ${asker} }
moderator:
  - { from: __start__, to: asker }
  - { from: asker, to: asker, when: $count(steps) < 2 }
  - { from: asker, to: __end__ }
`,
    );
    const server = await repository.serve();
    await repository.run('run', 'twice', '-p', 'Two questions');
    const [thread] = await repository.threads();
    const page = await logIn(await openProfile(), server);
    await page.goto(`${server.origin}/t/${thread?.thread}`);
    await page.getByRole('textbox', { name: 'Answer' }).fill('to the first');
    await repository.run('thread', 'resume', thread?.thread ?? '', '-p', 'answered at a terminal');
    const stale = page.locator('.answer form', { hasText: 'has gone on' });
    await stale.waitFor();
    expect(await stale.locator('textarea').inputValue()).toBe('to the first');
    expect(
      await page.locator('.answer form').filter({ hasNotText: 'has gone on' }).locator('textarea').inputValue(),
    ).toBe('');
  });
});
