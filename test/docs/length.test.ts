import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

/** The words of a document; the lines of a table are none. */
const wordsIn = (file: string): number =>
  readFileSync(file, 'utf8')
    .replaceAll('|', ' ')
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

const decisions = readdirSync('docs/decisions').filter((name) => /^\d/.test(name));

test.each([
  ['docs/architecture.md', 2500],
  ['docs/format.md', 3000],
  ['docs/performance.md', 1200],
  ...decisions.map((name): [string, number] => [`docs/decisions/${name}`, 400]),
])('%s is read in one go: it has at most %i words', (file, most) => {
  expect(wordsIn(file)).toBeLessThanOrEqual(most);
});
