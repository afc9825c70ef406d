import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import {
  closeBrowserAfterwards,
  createPageRepository,
  isWithoutBrowser,
  logIn,
  openProfile,
} from './browser-fixture.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

/** Presses Tab until an element has the focus: one that a selector of CSS names, and that has a text. */
async function tabTo(page: Page, selector: string, text = ''): Promise<void> {
  const isThere = `(document.activeElement?.matches(${JSON.stringify(selector)}) ?? false) &&
    document.activeElement.textContent.includes(${JSON.stringify(text)})`;
  for (let presses = 0; presses < 80; presses += 1) {
    if ((await page.evaluate(isThere)) === true) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`Tab does not lead to ${selector} ${text}`);
}

/** Presses a button or follows a link, which leads to another page. */
async function press(page: Page, selector: string, text = ''): Promise<void> {
  await tabTo(page, selector, text);
  await Promise.all([page.waitForEvent('load'), page.keyboard.press('Enter')]);
}

async function unfold(page: Page, text: string): Promise<void> {
  await tabTo(page, 'summary', text);
  await page.keyboard.press('Enter');
}

describe.skipIf(isLeftOut)('every action of the page', () => {
  test('works by keyboard alone', async () => {
    const repository = createPageRepository({ count: 600, everyMs: 50 });
    await repository.run('run', 'ask', '-p', 'Ask');
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    const statusIs = (status: string): Promise<void> => page.locator(`.thread-facts .status-${status}`).waitFor();

    // Start and stop.
    await press(page, 'a', 'Start');
    await page.getByRole('heading', { name: 'Start a thread' }).waitFor();
    await tabTo(page, 'select');
    await page.keyboard.type('talk');
    await tabTo(page, 'textarea');
    await page.keyboard.type('Say it');
    await press(page, 'button', 'Start and run');
    await statusIs('running');
    await press(page, 'button', 'Stop it');
    await page.getByRole('button', { name: 'Run on' }).waitFor();
    await press(page, 'button', 'Run on');
    await statusIs('running');
    await press(page, 'button', 'Stop it');
    await page.getByRole('button', { name: 'Run on' }).waitFor();

    // Answer.
    await press(page, 'nav a', 'Inbox');
    await press(page, 'article h2 a', 'Ask');
    await tabTo(page, '.answer textarea');
    await page.keyboard.type('Yes');
    await press(page, '.answer button');
    await statusIs('ended');

    // Ask about a step.
    await unfold(page, 'Ask an agent');
    await tabTo(page, '#ask-question');
    await page.keyboard.type('Why?');
    await press(page, 'button', 'Ask and wait');
    await page.getByRole('heading', { name: 'You asked' }).waitFor();
    await press(page, '.facts a', '01');

    // Look at a step, and fork there.
    await press(page, '.entry h2 a', '2. closer');
    await page.getByRole('heading', { name: 'Take it from here' }).waitFor();
    await press(page, 'button', 'Fork here');
    await statusIs('idle');

    // Redo a step, fork behind the start, cancel.
    // It prints such an object.
    const shown = async (): Promise<{ head: string }> =>
      (await repository.json(['thread', 'show', new URL(page.url()).pathname.slice(3)])) as { head: string };
    const { head } = await shown();
    await unfold(page, 'Have the last step done again');
    await tabTo(page, '[name=word]');
    await page.keyboard.type('Shorter');
    await press(page, 'button', 'Do it again');
    await expect.poll(async () => (await shown()).head, { timeout: 20_000 }).not.toBe(head);
    await unfold(page, 'Fork');
    await tabTo(page, '#fork-step');
    await page.keyboard.type('0');
    await press(page, 'button', 'Make a fork');
    await statusIs('idle');
    await unfold(page, 'Cancel');
    await tabTo(page, '#cancel-reason');
    await page.keyboard.type('Not needed');
    await press(page, 'button', 'Cancel the thread');
    await page.getByText('Not needed').first().waitFor();

    // Filter.
    await press(page, 'nav a', 'Threads');
    await tabTo(page, 'input[name=workflow]');
    await page.keyboard.type('ask');
    await press(page, 'button', 'Filter');
    await page.waitForURL((url) => url.searchParams.get('workflow') === 'ask');
    expect(await page.locator('ul.threads > li').count()).toBeGreaterThan(2);
  });
});
