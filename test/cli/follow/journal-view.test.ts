import { expect, test } from 'vitest';
import type { EngineEvent } from '../../../src/engine/events.ts';
import type { JournalEntry } from '../../../src/engine/journal/journal.ts';
import { JournalView } from '../../../src/cli/follow/journal-view.ts';
import { RunStory } from '../../../src/cli/follow/run-story.ts';
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

test('a refused reply is described as in a run on this terminal', () => {
  const palette = createPalette({}, {});
  const event: EngineEvent = {
    event: 'reply.refused',
    thread,
    role: 'coder',
    attempt: 1,
    errors: ['no $status'],
    isLast: false,
  };
  const text = 'not accepted from coder, asking again: no $status';
  expect(new JournalView(palette, false).write({ at: 0, ...event })).toBe(`${text}\n\n`);
  expect(new RunStory(palette).lineFor(event)?.trim()).toBe(text);
});
