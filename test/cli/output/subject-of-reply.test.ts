import { expect, test } from 'vitest';
import { subjectOfReply } from '../../../src/cli/output/markdown.ts';

test('the subject of a reply is the first line behind its front matter', () => {
  expect(subjectOfReply('---\n$status: $SUSPEND\nreason: Which?\n---\n\n# I looked\nmore')).toBe('I looked');
  expect(subjectOfReply('---\n$status: $SUSPEND\nreason: Which?\n---\n')).toBe('');
  expect(subjectOfReply('half a thought\n---\nmore')).toBe('half a thought');
});
