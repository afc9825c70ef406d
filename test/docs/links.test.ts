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
];

/** The targets of a Markdown text's links that are files of this project, without their anchors. */
function linkedFiles(markdown: string): string[] {
  const prose = markdown.replaceAll(/^```[^]*?^```$/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\((?<target>[^)\s#]+)(?:#[^)]*)?\)/g)]
    .map((match) => match.groups?.['target'] ?? '')
    .filter((target) => !/^[a-z]+:/.test(target));
}

test('links are found in prose, not in code', () => {
  const markdown = '[a](x.md#part) [b](https://example.org)\n```\n[c](y.md)\n```\n`[d](z.md)`\n';
  expect(linkedFiles(markdown)).toEqual(['x.md']);
});

test.each(documents)('every link of %s leads to a file', (document) => {
  const folder = path.dirname(path.join(root, document));
  const markdown = readFileSync(path.join(root, document), 'utf8');
  expect(linkedFiles(markdown).filter((target) => !existsSync(path.join(folder, target)))).toEqual([]);
});
