import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import {
  closeBrowserAfterwards,
  createPageRepository,
  isWithoutBrowser,
  logIn,
  openProfile,
} from './browser-fixture.ts';
import { startLiveProxy } from './live-proxy.ts';
import { checkNotedHeads, eventually, isMarked, listed, listedByCommand, mark, noteHeads } from './page-look.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

const kills = Number(process.env['SUITE_PAGE_KILLS'] ?? 3);
const TABS = 7;

describe.skipIf(isLeftOut)('an open page', () => {
  test('is still logged in, and misses and doubles no change, while the server is killed and started again', async ({
    annotate,
  }) => {
    const repository = createPageRepository({ count: 10, everyMs: 30 });
    let server = await repository.serve();
    const port = Number(new URL(server.origin).port);
    const proxy = await startLiveProxy(server);
    const profile = await openProfile();
    const first = await logIn(profile, proxy.server);
    const tabs = [first, ...(await Promise.all(Array.from({ length: TABS - 1 }, () => profile.newPage())))];
    for (const tab of tabs.slice(1)) await tab.goto(`${proxy.server.origin}/`);
    for (const tab of tabs) {
      await mark(tab);
      await noteHeads(tab);
    }
    let streams = 0;
    for (let kill = 0; kill < kills; kill += 1) {
      const runs = [
        repository.run('run', 'talk', '-p', `Talk ${kill}`),
        repository.run('run', 'ask', '-p', `Ask ${kill}`),
      ];
      await sleep((kill * 137) % 700);
      const before = proxy.tries;
      await server.kill();
      // Now and then, all that happens meanwhile has ended when the server comes back.
      if (kill % 3 === 0) await Promise.all(runs);
      server = await repository.serve({ port });
      await Promise.all(runs);
      for (const tab of tabs) {
        await eventually(async () => expect(await listed(tab)).toEqual(await listedByCommand(repository)), 90_000);
      }
      await eventually(async () => expect(proxy.streams).toBe(1));
      streams += proxy.tries - before;
    }
    for (const tab of tabs) {
      expect(await isMarked(tab)).toBe(true);
      expect(new URL(tab.url()).pathname).toBe('/');
      await checkNotedHeads(tab, repository);
    }
    await annotate(`${kills} kills, ${TABS} tabs, ${streams} connections tried`);
    // Each kill costs the stream and seven pages a few tries.
    expect(streams / kills).toBeLessThan(40);
  });
});
