import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { packageRoot } from '../../../src/git/system/process-identity.ts';
import { closeBrowserAfterwards, isWithoutBrowser, logIn, openProfile } from './browser-fixture.ts';
import { createShowcase, type Showcase } from './showcase.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

/** `npm run pictures` sets it: then the pictures are written, and not only taken. */
const isWriting = process.env['SUITE_WRITE_PICTURES'] === '1';
const folder = join(packageRoot(), 'docs/pictures');
const MAX_BYTES = 60_000;

/** What is in the pictures: an address, and a text that has to be there. */
const pictures = ({ waiting, ended, fork }: Showcase): Record<string, { path: string; shows: string }> => ({
  threads: { path: '/', shows: 'Waiting for you' },
  inbox: { path: '/inbox', shows: 'asks you' },
  story: { path: `/t/${waiting}`, shows: 'The cause was in' },
  timeline: { path: `/t/${waiting}?view=timeline`, shows: 'Who worked when' },
  graph: { path: `/t/${ended}?view=graph`, shows: 'The path through fix' },
  step: { path: `/t/${waiting}/3`, shows: 'Compared with' },
  diff: { path: `/diff/${waiting}..${fork}`, shows: 'in common' },
  workflows: { path: '/w', shows: 'explain' },
  workflow: { path: '/w/fix', shows: 'Roles' },
  cost: { path: '/cost', shows: 'By workflow' },
  start: { path: '/start', shows: 'Start' },
  login: { path: '/login', shows: 'Token' },
});

/** Takes what the window shows. */
async function picture(page: Page): Promise<Buffer> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 85 });
  await session.detach();
  return Buffer.from(data, 'base64');
}

describe.skipIf(isLeftOut)('the pictures of the documentation', () => {
  test('show every page, in light and in dark, and are small', async () => {
    const showcase = await createShowcase(Date.now());
    const server = await showcase.repository.serve();
    const running = showcase.repository.run('run', 'explain', '-p', 'Why does the basket never round a sum?');
    if (isWriting) mkdirSync(folder, { recursive: true });
    for (const colorScheme of ['light', 'dark'] as const) {
      const profile = await openProfile({ colorScheme, viewport: { width: 1120, height: 760 } });
      const page = await logIn(profile, server);
      for (const [name, { path, shows }] of Object.entries(pictures(showcase))) {
        await page.goto(`${server.origin}${path}`);
        await page.getByText(shows).first().waitFor();
        const taken = await picture(page);
        expect(taken.length, name).toBeLessThan(MAX_BYTES);
        if (isWriting) writeFileSync(join(folder, `${name}-${colorScheme}.webp`), taken);
      }
    }
    const [thread] = (await showcase.repository.threads()).filter(({ status }) => status === 'running');
    if (thread !== undefined) await showcase.repository.run('thread', 'stop', thread.thread);
    await running;
  });
});
