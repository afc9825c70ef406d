import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import { suspendThread, type SuspensionDraft } from '../../../src/thread/suspend-thread.ts';
import { outlineSuspension, readRefused, readSuspension } from '../../../src/thread/exchange.ts';
import type { CommitOf } from '../../../src/thread/thread-state.ts';
import { createMapRepository } from '../../helpers/map-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
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

const oidOf = ({ index }: CommitOf<'suspend'>, path: string): ObjectId =>
  index.find((entry) => entry.path === path)!.oid;

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
    await expect(outlineSuspension(repository, noAttempt)).rejects.toMatchObject(fault(`attempt ${attempt}`));
    const text = commit.index.find(({ path }) => path === 'attempts/01/output.md')!;
    const noText = without(text.path);
    await expect(readRefused(repository, noText)).rejects.toMatchObject(fault(`content ${text.hash}`));
    expect((await outlineSuspension(repository, noText)).refused).toHaveLength(2);
  });
});

describe('a suspended turn in a list', () => {
  const errors = attempts.map((attempt) => ({ errors: attempt.errors }));

  test('is told without the texts of rejected replies, which are not read', async () => {
    const { repository, commit } = await suspended({ text: long, attempts });
    const spied = watched(repository);
    const { refused, text } = await outlineSuspension(spied.repository, commit);
    expect(refused).toStrictEqual(errors.map((each, at) => ({ attempt: commit.node.attempts[at], ...each })));
    expect(text).toBe(long);
    const read = ['output.md', 'attempts/01/attempt.json', 'attempts/02/attempt.json'];
    expect(spied.read).toEqual(read.map((path) => oidOf(commit, path)));
  });

  test('is an error where the repository has lost a rejected reply', async () => {
    const { repository, commit } = await suspended({ attempts });
    repository.objectMap.delete(oidOf(commit, 'attempts/01/attempt.json'));
    await expect(outlineSuspension(repository, commit)).rejects.toMatchObject({ code: 'object-missing' });
  });
});
