import { mkdirSync, readFileSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root, testDocument } from './live-document.ts';

testDocument('docs/embedding.md', (folder) => {
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(root, path.join(folder, 'node_modules/uwf'));
});

test('the library exports at most 60 names, each of which docs/embedding.md uses', () => {
  const surface =
    readFileSync(path.join(root, 'test/api/public-api.txt'), 'utf8').split('// uwf/agent-contract')[0] ?? '';
  const declared = surface.matchAll(/^export (?:type|interface|class|function|const) (\w+)/gm);
  const names = [...new Set([...declared].map(([, name = '']) => name))];
  const examples = readFileSync(path.join(root, 'docs/embedding.md'), 'utf8');
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(examples))).toEqual([]);
  expect(names.length).toBeLessThanOrEqual(60);
});
