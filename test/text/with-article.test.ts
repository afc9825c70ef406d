import { expect, test } from 'vitest';
import { withArticle } from '../../src/text/wording.ts';

test('a word has the article that one says', () => {
  expect(['id', 'agent', 'role', 'url', 'user', 'update', 'unit'].map(withArticle)).toEqual([
    'an id',
    'an agent',
    'a role',
    'a url',
    'a user',
    'an update',
    'a unit',
  ]);
});
