import { expect, test } from 'vitest';
import { MAX_PARENTS } from '../../src/thread/draft-commit.ts';
import { MAX_BRANCHES } from '../../src/workflow/definition.ts';

test('the ends of all branches fit into one commit, beside the step before and what links add', () => {
  expect(MAX_BRANCHES + 50).toBeLessThan(MAX_PARENTS);
});
