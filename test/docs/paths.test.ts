import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { codesIn } from './key-table.ts';
import { root } from './live-document.ts';

const documents = ['README.md', 'CONTRIBUTING.md', 'bench/RESULTS.md'].concat(
  readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
);

/** The paths of this project that a document names in backticks. */
function pathsIn(markdown: string): string[] {
  return codesIn(markdown.replaceAll(/^```[^]*?^```$/gm, '')).filter((code) =>
    /^(?:src|test|scripts|bench|bin|fixtures)\/[\w./-]*$/.test(code),
  );
}

test('paths are found in prose, not in blocks', () => {
  expect(pathsIn('`src/a.ts` and `a/b.ts`\n```\n`src/b.ts`\n```\n')).toEqual(['src/a.ts']);
});

test.each(documents)('every path that %s names exists', (document) => {
  const named = pathsIn(readFileSync(path.join(root, document), 'utf8'));
  expect(named.filter((name) => !existsSync(path.join(root, name)))).toEqual([]);
});

test('docs/architecture.md names every room, and every folder in it', () => {
  const markdown = readFileSync(path.join(root, 'docs/architecture.md'), 'utf8');
  const rows = markdown.split('\n').flatMap((line) => {
    const [, room] = /^\| \d+ \| `(\w+)\/` \|/.exec(line) ?? [];
    return room === undefined ? [] : [{ room, line }];
  });
  expect(rows.map(({ room }) => room).toSorted()).toEqual(foldersIn('src').toSorted());
  // The folders of cli/ serve its commands, and say so by their names.
  for (const { room, line } of rows.filter((row) => row.room !== 'cli')) {
    const parts = codesIn(line).filter((code) => /^[\w-]+$/.test(code));
    const folders = foldersIn(`src/${room}`);
    expect(
      folders.filter((folder) => !parts.includes(folder)),
      room,
    ).toEqual([]);
  }
});

function foldersIn(folder: string): string[] {
  return readdirSync(path.join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}
