import { describe, expect, test } from 'vitest';
import type { NodeHash } from '../../../src/cas/hash.ts';
import { createPalette } from '../../../src/cli/output/text.ts';
import type { EngineEvent } from '../../../src/engine/events.ts';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import { JournalView, RunStory } from '../../../src/cli/follow/print-events.ts';
import type { JournalEntry } from '../../../src/engine/journal/journal.ts';

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

describe('branches of a block', () => {
  const [parent, other] = ['01KAPRFXE000000000000CALLR', '01KAPRFXE000000000000THERS'] as [ThreadId, ThreadId]; // any will do
  const head = '0'.repeat(40) as ObjectId; // any will do
  const idOf = (place: number): ThreadId => `01KAPRFXE00000000000000${String(place).padStart(3, '0')}` as ThreadId; // any will do
  const caller: EngineEvent = { event: 'thread.started', thread: parent, workflow: 'whole', head, parent: null };
  const began = (key: string, id: ThreadId, by: ThreadId = parent): EngineEvent => ({
    event: 'thread.started',
    thread: id,
    workflow: 'part',
    head,
    parent: by,
    branch: { block: 'work', key },
  });
  const ended = (id: ThreadId, event: 'thread.ended' | 'thread.failed' = 'thread.ended'): EngineEvent => ({
    event,
    thread: id,
    status: event === 'thread.ended' ? 'ended' : 'failed',
    returnCode: 0,
    head,
    text: 'Read.',
  });
  const finished = (id: ThreadId): EngineEvent => ({
    event: 'step.finished',
    thread: id,
    role: 'reader',
    step: '0000000000000' as NodeHash, // any will do
    number: 1,
    outcome: 'good',
    head,
    subject: 'Read.',
    durationMs: 1000,
    usage: null,
  });

  test('their lines name their keys, from the outermost', () => {
    const story = new RunStory(createPalette({}, {}));
    const events = [
      caller,
      began('security', idOf(1)),
      began('inner', other, idOf(1)),
      finished(idOf(1)),
      ended(other),
    ];
    expect(events.map((event) => story.lineFor(event))).toEqual([
      `thread ${parent}  whole`,
      `    branch security: thread ${idOf(1)}  part`,
      `        branch security/inner: thread ${other}  part`,
      '    security   1  reader good: Read. (1.0 s)',
      '        branch security/inner ended: Read.',
    ]);
  });

  test('one that goes on is named, too', () => {
    const story = new RunStory(createPalette({}, {}), undefined, parent);
    const branch = { block: 'work', key: 'security' };
    expect(story.lineFor({ event: 'branch.continued', thread: other, parent, branch })).toBe(
      `    branch security continues: thread ${other}`,
    );
    expect(story.lineFor(ended(other))).toBe('    branch security ended: Read.');
  });

  const linesOf = (story: RunStory): (string | undefined)[] => {
    const ids = Array.from({ length: 30 }, (_, place) => idOf(place));
    const [last = other] = ids.slice(-1);
    const events = ids.flatMap((id, place) => [began(`part-${place}`, id), finished(id), ended(id)]);
    return [caller, ...events, ended(last, 'thread.failed')].map((event) => story.lineFor(event));
  };

  test('of many a terminal has lines of the first, and of those that fail', () => {
    const lines = linesOf(new RunStory(createPalette({}, {}), 80)).filter((line) => line !== undefined);
    expect(lines).toHaveLength(1 + 3 * 20 + 1);
    expect(lines.at(-1)).toBe('    branch part-29 failed: Read.');
  });

  test('a file has lines of all', () => {
    const lines = linesOf(new RunStory(createPalette({}, {})));
    expect(lines).not.toContain(undefined);
  });

  test('a later block has lines of its first branches again', () => {
    const story = new RunStory(createPalette({}, {}), 80);
    linesOf(story);
    story.lineFor(finished(parent));
    expect(story.lineFor(began('again', other))).toContain('branch again');
  });
});

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
