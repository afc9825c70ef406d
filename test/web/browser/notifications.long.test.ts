import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import {
  closeBrowserAfterwards,
  createPageRepository,
  hide,
  isWithoutBrowser,
  logIn,
  openProfile,
} from './browser-fixture.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

/** Has each tab note its notifications, which are shown as well. */
const note = `globalThis.notified = [];
globalThis.Notification = class extends Notification {
  constructor(title, options) {
    super(title, options);
    notified.push([title, options.body]);
  }
};`;

const notifiedBy = async (tabs: readonly Page[]): Promise<unknown[]> =>
  (await Promise.all(tabs.map((tab) => tab.evaluate<unknown[]>('notified')))).flat();

async function waitForCount(tabs: readonly Page[], count: number): Promise<void> {
  const titles = (): Promise<string[]> => Promise.all(tabs.map((tab) => tab.title()));
  const counted = expect.stringMatching(new RegExp(`^\\(${count}\\) `));
  await expect.poll(titles, { timeout: 20_000 }).toEqual(tabs.map(() => counted));
}

describe.skipIf(isLeftOut)('notifications', () => {
  test('are shown if wanted, once for each new question, by hidden tabs, too', async () => {
    const repository = createPageRepository();
    const server = await repository.serve();
    await repository.run('run', 'ask', '-p', 'Before');
    const profile = await openProfile({ permissions: ['notifications'] });
    await profile.addInitScript(note);
    const first = await logIn(profile, server);
    const second = await profile.newPage();
    await second.goto(`${server.origin}/cost`);
    const tabs = [first, second];
    await waitForCount(tabs, 1);
    await repository.run('run', 'ask', '-p', 'Not wanted yet');
    await waitForCount(tabs, 2);
    await first.getByRole('button', { name: 'Notify me' }).click();
    for (const tab of tabs) await tab.getByRole('button', { name: 'Notify me', pressed: true }).waitFor();
    for (const tab of tabs) await hide(tab, true);
    await repository.run('run', 'ask', '-p', 'Wanted');
    await expect.poll(() => notifiedBy(tabs), { timeout: 20_000 }).toEqual([['asker asks you', 'Wanted']]);
    await waitForCount(tabs, 3);
    // A tab that is opened later finds the same questions.
    const third = await profile.newPage();
    await third.goto(`${server.origin}/inbox`);
    await waitForCount([third], 3);
    await repository.run('run', 'ask', '-p', 'Another');
    const all = [...tabs, third];
    await waitForCount(all, 4);
    await expect.poll(async () => (await notifiedBy(all)).length, { timeout: 20_000 }).toBe(2);
    await third.getByRole('button', { name: 'Notify me' }).click();
    await first.getByRole('button', { name: 'Notify me', pressed: false }).waitFor();
    await repository.run('run', 'ask', '-p', 'Not wanted any more');
    await waitForCount(all, 5);
    await third.getByRole('link', { name: 'Not wanted any more' }).waitFor();
    expect(await notifiedBy(all)).toEqual(expect.arrayContaining([['asker asks you', 'Another']]));
    expect((await notifiedBy(all)).length).toBe(2);
  });

  test('are not offered where the browser refuses them', async () => {
    const server = await createPageRepository().serve();
    const profile = await openProfile();
    await profile.addInitScript("Object.defineProperty(Notification, 'permission', { value: 'denied' })");
    const page = await logIn(profile, server);
    expect(await page.getByRole('button', { name: 'Notify me' }).count()).toBe(0);
  });
});
