import { expect, test } from 'vitest';
import { readSourceFiles } from './source-files.ts';

/** What writes the words of people and agents, or tells them. */
const writers =
  /\b(?:startThread|appendStep|suspendThread|resumeThread|reopenThread|endThread|pinCompaction|putSchema|registerWorkflow|threadCas|putNode|TurnListener|runInBackground)\(/u;

/** They call a writer, and hand on what has been redacted, or nothing that somebody says. */
const others = new Set([
  // They write a start's prompt or an answer into git by the engine, and hand words to no process.
  'cli/commands/thread/run.ts',
  // They read.
  'cli/find/find-node.ts',
]);

test('whatever in the rooms that run threads writes what somebody said takes secrets out of it', () => {
  const writing = readSourceFiles().filter(
    ({ name, room, code }) => ['engine', 'mcp', 'cli'].includes(room) && writers.test(code) && !others.has(name),
  );
  const defining = /export (?:async )?function (?:runInBackground|threadCas)\b|export class TurnListener/u;
  const open = writing.filter(({ code }) => !defining.test(code) && !/redaction/iu.test(code));
  expect(writing.length).toBeGreaterThan(8);
  expect(open.map(({ name }) => name)).toEqual([]);
});
