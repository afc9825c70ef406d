import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { randomFrom } from '../../helpers/mutants.ts';
import {
  closeBrowserAfterwards,
  createPageRepository,
  isWithoutBrowser,
  logIn,
  openProfile,
  type PageRepository,
} from './browser-fixture.ts';
import {
  checkNotedHeads,
  eventually,
  isMarked,
  listed,
  listedByCommand,
  mark,
  notedDelays,
  noteHeads,
  noteWords,
} from './page-look.ts';

const isLeftOut = isWithoutBrowser();
closeBrowserAfterwards();

const runs = Number(process.env['SUITE_PAGE_RUNS'] ?? 8);
const seed = Number(process.env['SUITE_PAGE_SEED'] ?? 1);
/** The first page of a list has 50 threads. */
const RUNS_A_REPOSITORY = 40;

/** Runs uwf at another terminal, in one of the ways that change threads; with the prompt of the thread that talks, if one does. */
function changeThreads(
  repository: PageRepository,
  random: () => number,
  waiting: readonly string[],
  number: number,
): { ended: Promise<unknown>; talks: string | undefined } {
  const prompt = `Task ${number}`;
  const run = (...argv: string[]): Promise<unknown> => repository.run(...argv, '--json');
  const [thread] = waiting.toSorted(() => random() - 0.5);
  const chance = random();
  if (thread === undefined || chance < 0.6) {
    const talks = random() < 0.4 ? prompt : undefined;
    const started = run('run', talks === undefined ? 'ask' : 'talk', '-p', prompt);
    const answered = thread === undefined || chance < 0.3 ? [] : [run('thread', 'resume', thread, '-p', 'yes')];
    return { ended: Promise.all([started, ...answered]), talks };
  }
  if (chance < 0.8) {
    // Of two that answer at once, one is told that the other was faster.
    const again = random() < 0.3 ? [run('thread', 'resume', thread, '-p', 'no')] : [];
    return { ended: Promise.all([run('thread', 'resume', thread, '-p', 'yes'), ...again]), talks: undefined };
  }
  const verb = chance < 0.9 ? ['cancel', thread] : ['fork', thread];
  return { ended: run('thread', ...verb), talks: undefined };
}

/** Looks at one thread's page and compares it with `thread show`. */
async function comparePage(page: Page, repository: PageRepository, origin: string, thread: string): Promise<void> {
  await page.goto(`${origin}/t/${thread}`);
  // It prints such an object.
  const shown = (await repository.json(['thread', 'show', thread])) as Shown;
  const facts = page.locator('.thread-facts');
  await facts.locator(`.status-${shown.status}`).waitFor();
  const text = await facts.textContent();
  if (shown.nextRole !== null) expect(text).toContain(`next: ${shown.nextRole}`);
  if (shown.reason !== null) expect(await page.locator('main').textContent()).toContain(shown.reason);
  expect(await page.locator('.story > [id^="step-"]').count()).toBe(shown.steps);
}

type Shown = { status: string; steps: number; nextRole: string | null; reason: string | null };

describe.skipIf(isLeftOut)('an open page', () => {
  test('agrees with thread show over random runs', async ({ annotate }) => {
    const random = randomFrom(seed);
    const delays: number[] = [];
    let changes = 0;
    for (let done = 0; done < runs; done += RUNS_A_REPOSITORY) {
      const repository = createPageRepository({ count: 12, everyMs: 60 });
      const server = await repository.serve();
      const profile = await openProfile();
      const list = await logIn(profile, server);
      const one = await profile.newPage();
      await mark(list);
      await noteHeads(list);
      for (let number = done; number < Math.min(done + RUNS_A_REPOSITORY, runs); number += 1) {
        const before = await repository.threads();
        const waiting = before.filter(({ status }) => status === 'suspended').map(({ thread }) => thread);
        const { ended, talks } = changeThreads(repository, random, waiting, number);
        if (talks !== undefined) {
          const link = list.getByRole('link', { name: talks, exact: true });
          await one.goto(`${server.origin}${await link.getAttribute('href')}`);
          await noteWords(one);
          await one.locator('.status-ended').waitFor();
          delays.push(...(await notedDelays(one)));
        }
        await ended;
        await eventually(async () => expect(await listed(list)).toEqual(await listedByCommand(repository)));
        const threads = await repository.threads();
        const thread = threads[Math.floor(random() * threads.length)]?.thread ?? '';
        await comparePage(one, repository, server.origin, thread);
      }
      expect(await isMarked(list)).toBe(true);
      changes += await checkNotedHeads(list, repository);
      await server.kill();
    }
    delays.sort((a, b) => a - b);
    await annotate(
      `${runs} runs, ${changes} changes shown; ${delays.length} words on the page after ${delays[delays.length >> 1]} ms (median)`,
    );
  });
});
