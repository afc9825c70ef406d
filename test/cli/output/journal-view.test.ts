import { expect, test } from 'vitest';
import type { JournalEntry } from '../../../src/engine/journal.ts';
import { JournalView } from '../../../src/cli/output/journal-view.ts';
import { createPalette } from '../../../src/cli/output/palette.ts';
import { parseThreadId } from '../../../src/thread/thread-id.ts';

const thread = parseThreadId('01KTWEWZ760000000000000001');

test.each([
  ['okay', '\n'],
  ['okay\n', ''],
  ['', ''],
])('after %j its last line is ended once', (text, end) => {
  const view = new JournalView(createPalette({}, {}), false);
  const entry: JournalEntry = { at: 0, event: 'agent.text', thread, role: 'coder', text };
  expect(view.write(entry)).toBe(text);
  expect(view.finish()).toBe(end);
});
