import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(path.join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => path.join('docs', name)),
  'bench/RESULTS.md',
];

/** The targets of a Markdown text's links that lie in this project: files, with the headings that they name. */
function links(markdown: string): { file: string; heading: string | undefined }[] {
  const prose = withoutBlocks(markdown).replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\((?<file>[^)\s#]*)(?:#(?<heading>[^)]*))?\)/g)]
    .map(({ groups }) => ({ file: groups?.['file'] ?? '', heading: groups?.['heading'] }))
    .filter(({ file }) => !/^[a-z]+:/.test(file));
}

function withoutBlocks(markdown: string): string {
  return markdown.replaceAll(/^```[^]*?^```$/gm, '');
}

/** The headings of a Markdown text as GitHub's links name them. */
function headings(markdown: string): string[] {
  return [...withoutBlocks(markdown).matchAll(/^#+ (?<heading>.*)$/gm)].map((match) =>
    (match.groups?.['heading'] ?? '')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(/\s/g, '-'),
  );
}

test('links are found in prose, not in code', () => {
  const markdown = '[a](x.md#part) [b](https://example.org)\n```\n[c](y.md)\n```\n`[d](z.md)` [e](#here)\n';
  expect(links(markdown)).toEqual([
    { file: 'x.md', heading: 'part' },
    { file: '', heading: 'here' },
  ]);
});

test('headings are named as links name them', () => {
  expect(headings('# A\n```\n# b\n```\n### `graph`: edges by status\n')).toEqual(['a', 'graph-edges-by-status']);
});

test.each(documents)('every link of %s leads to a file, and to a heading of it', (document) => {
  const folder = path.dirname(path.join(root, document));
  const markdown = readFileSync(path.join(root, document), 'utf8');
  const broken = links(markdown).filter(({ file, heading }) => {
    const target = path.join(folder, file);
    if (file !== '' && !existsSync(target)) return true;
    if (heading === undefined) return false;
    return !headings(file === '' ? markdown : readFileSync(target, 'utf8')).includes(heading);
  });
  expect(broken).toEqual([]);
});
