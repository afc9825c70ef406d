import type { Page } from 'playwright-core';
import { expect, vi } from 'vitest';
import type { PageRepository } from './browser-fixture.ts';

/** Marks the document, so that a reload shows. */
export const mark = (page: Page): Promise<void> => page.evaluate('globalThis.mark = true');
export const isMarked = (page: Page): Promise<unknown> => page.evaluate('globalThis.mark === true');

export const eventually = (check: () => Promise<void>, timeout = 20_000): Promise<void> =>
  vi.waitFor(check, { timeout, interval: 50 });

/** What a list of threads shows: of each its status and its head. */
export type Listed = Record<string, { status: string | undefined; head: string | undefined }>;

export const listed = (page: Page): Promise<Listed> =>
  page.locator('ul.threads > li').evaluateAll((rows) => {
    const list = rows as { id: string; dataset: Record<string, string> }[];
    return Object.fromEntries(
      list.map(({ id, dataset }) => [id, { status: dataset['status'], head: dataset['head'] }]),
    );
  });

/** What the list has to show, as the command has it. */
export async function listedByCommand(repository: PageRepository): Promise<Listed> {
  const threads = await repository.threads();
  return Object.fromEntries(threads.map(({ thread, status, head }) => [thread, { status, head }]));
}

/** Notes which heads of threads a list shows, one after the other. */
export const noteHeads = (page: Page): Promise<void> =>
  page.evaluate(`globalThis.heads = {};
    const look = () => {
      for (const { id, dataset } of document.querySelectorAll('ul.threads > li')) {
        const shown = (heads[id] ??= []);
        if (shown.at(-1) !== dataset.head) shown.push(dataset.head);
      }
    };
    look();
    new MutationObserver(look).observe(document.querySelector('#main'), { childList: true, subtree: true, attributes: true })`);

/**
 * Checks that a list has shown each thread only as it went on: no head twice, none after a newer one, and the newest last.
 * @returns how many changes of heads it has shown
 */
export async function checkNotedHeads(page: Page, repository: PageRepository): Promise<number> {
  const noted = (await page.evaluate('heads')) as Record<string, string[]>;
  for (const [thread, heads] of Object.entries(noted)) {
    const newest = heads.at(-1) ?? '';
    const chain = repository.git('log', '--first-parent', '--reverse', '--format=%H', newest).split('\n');
    const places = heads.map((head) => chain.indexOf(head));
    expect(places, `heads of ${thread}`).toEqual([...new Set(places)].toSorted((a, b) => a - b));
    expect(places, `heads of ${thread}`).not.toContain(-1);
  }
  const last = Object.fromEntries(Object.entries(noted).map(([thread, heads]) => [thread, heads.at(-1)]));
  const expected = Object.entries(await listedByCommand(repository)).map(([thread, { head }]) => [thread, head]);
  expect(last).toEqual(Object.fromEntries(expected));
  return Object.values(noted).flat().length;
}

/** Notes of each word of an agent how long after it was said it is on the page: a word carries when it was said. */
export const noteWords = (page: Page): Promise<void> =>
  page.evaluate(`globalThis.delays = new Map();
    const note = (at) => {
      for (const [, word, said] of document.querySelector('#turn')?.textContent.matchAll(/w(\\d+)@(\\d+) /g) ?? [])
        if (!delays.has(word)) delays.set(word, at - said);
    };
    // What was there before is not timed.
    note(NaN);
    new MutationObserver(() => note(Date.now())).observe(document.querySelector('#main'), {
      childList: true, subtree: true, characterData: true })`);

/** In ms, the smallest first. */
export async function notedDelays(page: Page): Promise<number[]> {
  const delays = (await page.evaluate('[...delays.values()].map((each) => each ?? NaN)')) as number[];
  return delays.filter((each) => !Number.isNaN(each)).toSorted((a, b) => a - b);
}
