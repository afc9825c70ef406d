import { describe, expect, test } from 'vitest';
import { suspendThread, type SuspensionDraft } from '../../../src/thread/thread-verbs.ts';
import { outlineSuspension, readRefused, readSuspension } from '../../../src/thread/exchange.ts';
import type { CommitOf } from '../../../src/thread/thread-state.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { startLoop, suspensionDraft } from '../thread-fixture.ts';

const usage = { inputTokens: 1, outputTokens: 2, turns: 1 };
const long = 'long '.repeat(300);
const attempts = [
  { text: 'one', errors: ['not like this', 'nor like this'], usage },
  { text: long, errors: ['too long'], usage: null },
];
const trace: SuspensionDraft['trace'] = {
  durationMs: 1,
  turns: [
    {
      input: 'Go on.',
      output: 'No.',
      parts: [],
      toolCalls: [],
      tokens: { input: 1, output: 1 },
      startedAtMs: 1,
      latencyMs: 1,
    },
  ],
};

async function suspended(draft: Partial<SuspensionDraft> = {}) {
  const repository = createMapRepository();
  const waiting = await suspendThread(
    repository,
    await startLoop(repository),
    suspensionDraft({ cause: 'limit', ...draft }),
  );
  const commit = waiting.head;
  if (commit.kind !== 'suspend') throw new Error('it waits');
  return { repository, waiting, commit };
}

describe('a suspended turn', () => {
  test('is read with its text, its rejected replies, its trace, and when it can be taken again', async () => {
    const due = 1_795_262_460_000;
    const { repository, commit } = await suspended({ text: long, usage, attempts, trace, due });
    expect(await readSuspension(repository, commit)).toStrictEqual({
      suspension: commit.hash,
      role: 'writer',
      reason: 'a question',
      cause: 'limit',
      text: long,
      refused: attempts.map((attempt, at) => ({ attempt: commit.node.attempts[at], ...attempt })),
      trace: commit.node.react,
      usage,
      due: '2026-11-21T12:01:00.000Z',
    });
    expect(commit.node.react).not.toBeNull();
  });

  test('has no text, no trace and no time where nothing was said', async () => {
    const { repository, commit } = await suspended();
    const expected = {
      suspension: commit.hash,
      role: 'writer',
      reason: 'a question',
      cause: 'limit',
      text: '',
      refused: [],
      trace: null,
      usage: null,
    };
    expect(await readSuspension(repository, commit)).toStrictEqual(expected);
    expect(await outlineSuspension(repository, commit)).toStrictEqual(expected);
  });

  test('is corrupt without the node or the text of a rejected reply', async () => {
    const { repository, commit } = await suspended({ attempts });
    const [attempt] = commit.node.attempts;
    const without = (path: string): CommitOf<'suspend'> => ({
      ...commit,
      index: commit.index.filter((entry) => entry.path !== path),
    });
    const fault = (what: string): object => ({
      code: 'corrupt-thread',
      message: `commit ${commit.id} is not a sound part of a thread: it has no ${what}`,
    });
    const noAttempt = without('attempts/01/attempt.json');
    await expect(readRefused(repository, noAttempt)).rejects.toMatchObject(fault(`attempt ${attempt}`));
    const text = commit.index.find(({ path }) => path === 'attempts/01/output.md')!;
    const noText = without(text.path);
    await expect(readRefused(repository, noText)).rejects.toMatchObject(fault(`content ${text.hash}`));
  });
});
