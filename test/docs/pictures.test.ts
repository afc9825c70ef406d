import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root } from './live-document.ts';

const folder = path.join(root, 'docs/pictures');

/** The pictures that a document shows, each in light and in dark. */
function shownIn(document: string): string[] {
  const markdown = readFileSync(path.join(root, document), 'utf8');
  return [...markdown.matchAll(/(?:src|srcset)="(?:docs\/)?pictures\/([^"]+)"/g)].map(([, name = '']) => name);
}

test('docs/page.md shows every picture, in light and in dark', () => {
  const names = readdirSync(folder).toSorted();
  expect(shownIn('docs/page.md').toSorted()).toEqual(names);
  const dark = names.filter((name) => name.endsWith('-dark.webp'));
  expect(names.length).toBe(2 * dark.length);
  expect(dark.length).toBeGreaterThan(0);
});

test('the pictures that the README shows are there, and each has a text for those who do not see it', () => {
  const names = readdirSync(folder);
  expect(shownIn('README.md').filter((name) => !names.includes(name))).toEqual([]);
  for (const document of ['README.md', 'docs/page.md']) {
    const images = readFileSync(path.join(root, document), 'utf8').match(/<img [^>]*>/g) ?? [];
    expect(images.length).toBeGreaterThan(0);
    for (const image of images) expect(image).toMatch(/ alt="[^"]{10,}"/);
  }
});

test('the pictures are small enough for a repository', () => {
  const sizes = readdirSync(folder).map((name) => statSync(path.join(folder, name)).size);
  expect(Math.max(...sizes)).toBeLessThan(60_000);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(1_500_000);
});
