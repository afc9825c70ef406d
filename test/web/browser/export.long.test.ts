import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { createFamily } from '../export/family.ts';
import { closeBrowserAfterwards, isWithoutBrowser, openProfile } from './browser-fixture.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

describe.skipIf(isLeftOut)('an exported run with a child, opened from a disk', () => {
  test('is read over its links, searched, and asks nobody for anything', async () => {
    const { uwf, threads } = await createFamily();
    const folder = join(createTemporaryFolder(), 'a run');
    expect((await uwf(['web', '--export', folder, threads.caller])).code).toBe(0);
    const page = await (await openProfile()).newPage();
    const wrong: string[] = [];
    page.on('pageerror', (error) => wrong.push(error.message));
    page.on('console', (message) => wrong.push(message.text()));
    page.on('requestfailed', (request) => wrong.push(request.url()));
    page.on('request', (request) => {
      if (!request.url().startsWith('file:')) wrong.push(request.url());
    });
    await page.goto(pathToFileURL(join(folder, 'index.html')).href);
    await page.locator(`[id="${threads.caller}"]`).getByRole('link', { name: 'Plant roses.' }).click();
    await page.getByRole('heading', { name: 'Plant roses.', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Timeline' }).click();
    await page.getByRole('heading', { name: 'Who worked when' }).waitFor();
    await page.getByRole('link', { name: 'Graph' }).click();
    await page.getByRole('group', { name: 'Graph of the workflow outer' }).waitFor();
    await page.getByRole('link', { name: 'Story' }).click();
    await page.getByText('1 child thread').click();
    await page.getByRole('link', { name: threads.child }).click();
    await page.getByText('The tulip').waitFor();
    await page.getByRole('link', { name: '1. worker' }).click();
    await page.getByRole('heading', { name: '1. worker', level: 1 }).waitFor();
    await page.getByRole('link', { name: /^uwf / }).click();

    const search = page.getByRole('searchbox', { name: 'Search what was said' });
    await search.fill('tulip BLOOMS');
    await page.getByText('1 found').or(page.getByText('2 found')).waitFor();
    await search.fill('no such word');
    await page.getByText('0 found').waitFor();
    await search.fill('closed caller');
    await page.getByRole('list', { name: 'Found' }).getByRole('link').first().click();
    await page.locator('#step-2').getByText('Closed by the caller.').waitFor();
    expect(new URL(page.url()).hash).toBe('#step-2');

    for (const file of readdirSync(join(folder, 'pages'))) {
      await page.goto(pathToFileURL(join(folder, 'pages', file)).href);
      await page.getByRole('heading', { level: 1 }).waitFor();
      // The style sheet of the export is in force.
      expect(await page.evaluate('getComputedStyle(document.body).marginTop + document.fonts.status')).toMatch(/^0px/);
    }
    expect(wrong).toEqual([]);
  });
});
