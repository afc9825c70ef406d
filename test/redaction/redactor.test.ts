import { expect, test } from 'vitest';

import { markOf } from '../../src/redaction/redactor.ts';

test('equal secrets have equal marks under one key, and others under another', () => {
  const [here, there] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  expect(markOf('known', 'correct-horse', here)).toMatch(/^‹redacted:known:[0-9a-f]{8}›$/u);
  expect(markOf('known', 'correct-horse', here)).toBe(markOf('known', 'correct-horse', here));
  expect(markOf('known', 'correct-horse', here)).not.toBe(markOf('known', 'correct-horse', there));
});
