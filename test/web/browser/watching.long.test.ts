import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { describe, expect, test, vi } from 'vitest';
import {
  closeBrowserAfterwards,
  createPageRepository,
  isWithoutBrowser,
  logIn,
  openProfile,
} from './browser-fixture.ts';
import { startLiveProxy } from './live-proxy.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

/** What a page shows of threads: status and address of each. */
const listed = (page: Page): Promise<Record<string, string | undefined>> =>
  page.locator('ul.threads > li').evaluateAll((rows) => {
    const list = rows as { id: string; dataset: Record<string, string> }[];
    return Object.fromEntries(list.map(({ id, dataset }) => [id, dataset['status']]));
  });

/** Marks the document, so that a reload shows. */
const mark = (page: Page): Promise<void> => page.evaluate('globalThis.mark = true');
const isMarked = (page: Page): Promise<unknown> => page.evaluate('globalThis.mark === true');

/** Says of a tab that it is hidden: tabs of a headless browser always say that they are visible. */
async function hide(page: Page, isHidden: boolean): Promise<void> {
  await page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
    document.dispatchEvent(new Event('visibilitychange'))`);
}

const eventually = (check: () => Promise<void>, timeout = 20_000): Promise<void> =>
  vi.waitFor(check, { timeout, interval: 50 });

/** Notes for each word when it is on the page; a word carries when it was said. */
const noteWords = `globalThis.delays = new Map();
  new MutationObserver(() => {
    for (const [, word, at] of document.querySelector('#turn')?.textContent.matchAll(/w(\\d+)@(\\d+) /g) ?? [])
      if (!delays.has(word)) delays.set(word, Date.now() - at);
  }).observe(document.querySelector('#main'), { childList: true, subtree: true, characterData: true })`;

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
    await page.evaluate(noteWords);
    await page.locator('.status-ended').waitFor();
    expect(await isMarked(page)).toBe(true);
    expect((await run).code).toBe(0);
    const delays = (await page.evaluate('[...delays.values()].sort((a, b) => a - b)')) as number[];
    expect(delays.length).toBeGreaterThan(5);
    // Said, not judged: another process may have the machine. `--reporter=verbose` shows it.
    await annotate(`words on the page after ${delays[delays.length >> 1]} ms (median), ${delays.at(-1)} ms (longest)`);
    const said = await page.locator('.entry .said').last().textContent();
    expect([...(said ?? '').matchAll(/w(\d+)@/g)].map(([, word]) => Number(word))).toEqual([...Array(40).keys()]);
  });

  test('agrees with thread show over random runs', async () => {
    const repository = createPageRepository({ count: 5, everyMs: 20 });
    const server = await repository.serve();
    const profile = await openProfile();
    const list = await logIn(profile, server);
    const one = await profile.newPage();
    const rounds = Number(process.env['SUITE_PAGE_ROUNDS'] ?? 6);
    const threads: string[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const waiting = threads.filter((_, index) => (index * 7 + round) % 5 === 0).slice(0, 1);
      const started = repository.run('run', round % 3 === 2 ? 'talk' : 'ask', '-p', `Task ${round}`, '--json');
      await Promise.all([
        started,
        ...waiting.map((thread) => repository.run('thread', 'resume', thread, '-p', 'yes', '--json')),
      ]);
      const shown = await repository.threads();
      threads.splice(0, threads.length, ...shown.map(({ thread }) => thread));
      const expected = Object.fromEntries(shown.map(({ thread, status }) => [thread, status]));
      await eventually(async () => expect(await listed(list)).toEqual(expected));
      const thread = threads[(round * 5) % threads.length] ?? '';
      await one.goto(`${server.origin}/t/${thread}`);
      const view = (await repository.json(['thread', 'show', thread])) as { status: string; steps: number };
      await one.locator(`.thread-facts .status-${view.status}`).waitFor();
      expect(await one.locator('.story > [id^="step-"]').count()).toBe(view.steps);
    }
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

  test('is still logged in, and shows all changes, when the server was killed and started again', async () => {
    const repository = createPageRepository({ count: 10, everyMs: 30 });
    let server = await repository.serve();
    const port = Number(new URL(server.origin).port);
    const page = await logIn(await openProfile(), server);
    await mark(page);
    const kills = Number(process.env['SUITE_PAGE_KILLS'] ?? 3);
    for (let kill = 0; kill < kills; kill += 1) {
      const run = repository.run('run', kill % 2 === 0 ? 'talk' : 'ask', '-p', `Task ${kill}`);
      await sleep((kill * 137) % 700);
      await server.kill();
      if (kill % 2 === 0) await run;
      server = await repository.serve({ port });
      await run;
      const threads = await repository.threads();
      const expected = Object.fromEntries(threads.map(({ thread, status }) => [thread, status]));
      await eventually(async () => expect(await listed(page)).toEqual(expected), 60_000);
    }
    expect(await isMarked(page)).toBe(true);
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
});
