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
import { createShowcase } from './showcase.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

/** What axe finds on a page, each with the elements. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => id + ': ' + nodes.map(({ html }) => html.slice(0, 200)).join(' | ')))`);
}

/** Looks at what a page shows, with everything unfolded: in light in three widths; in dark, only colours differ. */
function lookFor(page: Page, colorScheme: string, found: string[]): (name: string) => Promise<void> {
  return async (name) => {
    await page.evaluate("document.querySelectorAll('details').forEach((each) => (each.open = true))");
    for (const width of colorScheme === 'light' ? [1440, 768, 390] : [1440]) {
      await page.setViewportSize({ width, height: 900 });
      found.push(...(await violations(page)).map((each) => `${colorScheme} ${width} ${name} ${each}`));
      // A table or a graph scrolls by itself.
      const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
      if (isWider) found.push(`${colorScheme} ${name} is wider than ${width}`);
    }
  };
}

async function runAsking(repository: PageRepository): Promise<{ waiting: string }> {
  await repository.run('run', 'ask', '-p', 'Ask *me*');
  const [waiting] = await repository.threads();
  return { waiting: waiting?.thread ?? '' };
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
    const { repository, waiting, ended, fork } = await createShowcase(Date.now());
    const server = await repository.serve();
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      const page = await (await openProfile({ colorScheme })).newPage();
      const look = lookFor(page, colorScheme, found);
      const visit = async (path: string): Promise<void> => {
        await page.goto(`${server.origin}${path}`);
        await look(path);
      };
      await visit('/login');
      await page.getByLabel('Token').fill('wrong');
      await page.keyboard.press('Enter');
      await page.getByRole('alert').waitFor();
      await look('a wrong token');
      await page.goto(server.address);
      await page.getByRole('heading', { name: 'Threads', level: 1 }).waitFor();
      const views = [waiting, ended].flatMap((thread) =>
        ['', '?view=timeline', '?view=graph'].map((view) => thread + view),
      );
      const addresses = [
        '/',
        '/?text=nothing',
        '/inbox',
        ...views.map((view) => `/t/${view}`),
        `/diff/${waiting}..${fork}`,
      ];
      addresses.push('/none', '/t/none', `/t/${waiting}/99`, '/diff/none', '/w/none');
      // Each address that the pages themselves link to, once for each form of address.
      const seen = new Set<string>();
      for (const path of addresses) {
        const form = path.replaceAll(ended, '<ended>').replaceAll(/[0-9a-z]{13,}/gi, '<id>');
        if (seen.has(form)) continue;
        seen.add(form);
        await visit(path);
        const links = (await page.evaluate(`[...document.querySelectorAll('a[href^="/"]')].map((a) =>
          a.getAttribute('href').replace(/#.*/, ''))`)) as string[];
        addresses.push(...links);
      }
    }
    expect(found).toEqual([]);
  });

  test('has nothing that axe objects to while an agent works, on a form that is refused, and where there is nothing', async () => {
    const found: string[] = [];
    const repository = createPageRepository({ count: 400, everyMs: 50 });
    const server = await repository.serve();
    const page = await logIn(await openProfile(), server);
    const look = lookFor(page, 'light', found);
    await look('an empty list');
    await page.goto(`${server.origin}/inbox`);
    await look('an empty inbox');
    await page.goto(`${server.origin}/cost`);
    await look('no cost');
    const { waiting } = await runAsking(repository);
    await page.goto(`${server.origin}/t/${waiting}`);
    await page.getByRole('button', { name: 'Answer and run on' }).click();
    await page.getByRole('alert').waitFor();
    await look('a refused answer');
    await page.goto(`${server.origin}/t/${waiting}`);
    await page.getByRole('textbox', { name: 'Answer' }).fill('Yes');
    await page
      .locator('.answer input[name=head]')
      .evaluate((input) => ((input as { value: string }).value = '0'.repeat(40)));
    await page.getByRole('button', { name: 'Answer and run on' }).click();
    await page.getByRole('heading', { name: 'Someone else was faster' }).waitFor();
    await look('a lost race');
    const talks = repository.run('run', 'talk', '-p', 'Say something');
    await page.goto(server.origin);
    await page.getByRole('link', { name: 'Say something' }).click();
    await page.locator('#turn .part').first().waitFor();
    await look('an agent at work');
    const [talking] = (await repository.threads()).filter(({ status }) => status === 'running');
    await repository.run('thread', 'stop', talking?.thread ?? '');
    await talks;
    await server.kill();
    await page.getByText('not connected').waitFor();
    await look('no server');
    const reading = await repository.serve({ write: false });
    const reader = await logIn(await openProfile(), reading);
    for (const path of ['/inbox', '/start', `/t/${waiting}`, `/t/${talking?.thread ?? ''}`]) {
      await reader.goto(`${reading.origin}${path}`);
      await lookFor(reader, 'light', found)(`${path} without --write`);
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
});
