import axe from 'axe-core';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import {
  closeBrowserAfterwards,
  createPageRepository,
  isWithoutBrowser,
  logIn,
  openProfile,
  type PageRepository,
} from './browser-fixture.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

/** What axe finds on a page, each with the elements. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`);
}

/** A thread that ended, and one that waits. */
async function runBoth(repository: PageRepository): Promise<{ ended: string; waiting: string }> {
  await repository.run('run', 'talk', '-p', 'Say something');
  await repository.run('run', 'ask', '-p', 'Ask *me*');
  const threads = await repository.threads();
  const find = (status: string): string => threads.find((each) => each.status === status)?.thread ?? '';
  return { ended: find('ended'), waiting: find('suspended') };
}

describe.skipIf(isLeftOut)('the page', () => {
  test('has nothing on any of its pages that axe objects to, in light and in dark, wide and narrow', async () => {
    const repository = createPageRepository({ count: 3, everyMs: 10 });
    const { ended, waiting } = await runBoth(repository);
    const server = await repository.serve();
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const profile = await openProfile({ colorScheme });
      const page = await profile.newPage();
      const look = async (path: string): Promise<void> => {
        await page.goto(`${server.origin}${path}`);
        for (const width of [1440, 390]) {
          await page.setViewportSize({ width, height: 900 });
          found.push(...(await violations(page)).map((each) => `${colorScheme} ${width} ${path} ${each}`));
          // A table or a graph scrolls by itself.
          const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
          if (isWider) found.push(`${colorScheme} ${path} is wider than ${width}`);
        }
      };
      await look('/login');
      await page.goto(server.address);
      await page.getByRole('heading', { name: 'Threads', level: 1 }).waitFor();
      // Each address that the pages themselves link to, once for each form of address.
      const threads = ['/', '/inbox', `/t/${ended}`, `/t/${waiting}`, '/none'];
      const seen = new Set<string>();
      const addresses = [...threads];
      for (const path of addresses) {
        const form = path.replaceAll(ended, '<ended>').replaceAll(/[0-9a-z]{20,}/gi, '<id>');
        if (seen.has(form)) continue;
        seen.add(form);
        await look(path);
        const links = (await page.evaluate(`[...document.querySelectorAll('a[href^="/"]')].map((a) =>
          a.getAttribute('href').replace(/#.*/, ''))`)) as string[];
        addresses.push(...links);
      }
    }
    expect(found).toEqual([]);
  });

  test('logs in, is read and is answered without JavaScript', async () => {
    const repository = createPageRepository({ count: 3, everyMs: 10 });
    const { waiting } = await runBoth(repository);
    const server = await repository.serve();
    const profile = await openProfile({ javaScriptEnabled: false });
    const page = await profile.newPage();
    await page.goto(`${server.origin}/t/${waiting}`);
    await page.getByLabel('Token').fill(server.token);
    await page.keyboard.press('Enter');
    await page.getByText('May I go on?').first().waitFor();
    await page.getByRole('textbox', { name: 'Answer' }).fill('Yes, *do*');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await expect
      .poll(
        async () => {
          await page.goto(`${server.origin}/t/${waiting}`);
          return page.locator('main').textContent();
        },
        { timeout: 30_000, interval: 300 },
      )
      .toContain('All is well.');
    expect(await page.locator('main').textContent()).toContain('You said Yes, do');
  });

  test('is logged in and answered by keyboard alone', async () => {
    const repository = createPageRepository({ count: 3, everyMs: 10 });
    await runBoth(repository);
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    const press = async (key: string, isThere: () => Promise<boolean>): Promise<void> => {
      for (let presses = 0; presses < 60 && !(await isThere()); presses += 1) await page.keyboard.press(key);
      expect(await isThere()).toBe(true);
    };
    const isFocused = (selector: string) => () =>
      page.evaluate(`document.activeElement?.matches(${JSON.stringify(selector)}) === true`) as Promise<boolean>;
    await press('Tab', isFocused('a[href="/inbox"]'));
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor();
    await press('Tab', isFocused('textarea'));
    await page.keyboard.type('go on');
    await press('Tab', isFocused('.answer button[type=submit]'));
    await page.keyboard.press('Enter');
    await page.getByText('All is well.').waitFor();
  });

  test('shows what an agent writes as text: nothing of it runs', async () => {
    const hostile = '<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script>';
    const repository = createPageRepository();
    await repository.run('run', 'ask', '-p', `${hostile} [x](javascript:globalThis.ran=1)`);
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    for (const path of ['/', '/inbox']) {
      await page.goto(`${server.origin}${path}`);
      expect(await page.locator('main').textContent()).toContain(hostile);
    }
    await page.locator('a[href^="/t/"]').first().click();
    await page.locator('#task').waitFor();
    expect(await page.locator('main img, main script, a[href^="javascript:"]').count()).toBe(0);
    expect(await page.evaluate('globalThis.ran')).toBeUndefined();
  });
});
