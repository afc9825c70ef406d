import { expect, test } from 'vitest';

import { createPalette } from '../../../src/cli/output/palette.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import { RunStory } from '../../../src/cli/follow/run-story.ts';

const thread = '01KAPRFXE0000000000000TEST' as ThreadId; // any will do
const role = 'worker';
const refusal = (text: string): Parameters<RunStory['lineFor']>[0] => ({ event: 'agent.refusal', thread, role, text });

test('what an agent lacks before it says a word is told, what it is refused later is not', () => {
  const story = new RunStory(createPalette({}, {}));
  const lines = [
    story.lineFor({ event: 'step.started', thread, role, agent: 'coding', number: 1, visit: 0 }),
    story.lineFor(refusal("it has not taken uwf's\nMCP server")),
    story.lineFor({ event: 'agent.text', thread, role, text: 'I begin.' }),
    story.lineFor(refusal('denied by the configured permissions: run ls')),
  ];
  expect(lines).toEqual([
    undefined,
    "     not given to worker: it has not taken uwf's MCP server",
    undefined,
    undefined,
  ]);
});
