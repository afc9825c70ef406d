import { expect, test } from 'vitest';

import { RedactionFailed } from '../../src/redaction/redactor.ts';

test('a redaction that failed says so by its code', () => {
  expect(new RedactionFailed('no', 'do')).toMatchObject({ code: 'redaction-failed', kind: 'timeout', hint: 'do' });
});
