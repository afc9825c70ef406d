import { describe, expect, test } from 'vitest';
import type { ObjectId } from '../../../src/git/format/object-id.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { resumeThread } from '../../../src/thread/append/resume-thread.ts';
import { suspendThread, type SuspensionDraft } from '../../../src/thread/append/suspend-thread.ts';
import { outlineSuspension, readRefused, readSuspension, textsOf } from '../../../src/thread/read/read-suspension.ts';
import type { CommitOf } from '../../../src/thread/read/thread-state.ts';
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

/** The same repository as a partial clone that has left some objects out; what was fetched in one connection. */
function partialClone(repository: Repository, left: readonly ObjectId[] = []) {
  const fetched: ObjectId[] = [];
  const objects: Repository['objects'] = {
    ...repository.objects,
    has: async (id) => !left.includes(id),
    prefetch: async (ids) => void fetched.push(...ids),
  };
  return { partial: { ...repository, objects }, fetched };
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

  test('has its texts fetched in one connection', async () => {
    const { repository, commit } = await suspended({ text: 'Which?', attempts, trace });
    const { partial, fetched } = partialClone(repository);
    await readSuspension(partial, commit);
    const paths = ['attempts/01/attempt.json', 'attempts/01/output.md', 'attempts/02/attempt.json'];
    expect(fetched.toSorted()).toEqual(
      [...paths, 'attempts/02/output.md', 'output.md'].map((path) => oidOf(commit, path)).toSorted(),
    );
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

  test('is told without rejected replies that a partial clone left out, and nothing is fetched', async () => {
    const { repository, commit } = await suspended({ text: 'Which?', attempts });
    const { partial, fetched } = partialClone(repository, [oidOf(commit, 'attempts/02/attempt.json')]);
    expect(await outlineSuspension(partial, commit)).toMatchObject({ text: 'Which?', refused: null });
    expect(await outlineSuspension(partialClone(repository).partial, commit)).toMatchObject({ refused: errors });
    expect(fetched).toEqual([]);
  });

  test('is an error where a whole repository has lost a rejected reply', async () => {
    const { repository, commit } = await suspended({ attempts });
    repository.objectMap.delete(oidOf(commit, 'attempts/01/attempt.json'));
    await expect(outlineSuspension(repository, commit)).rejects.toMatchObject({ code: 'object-missing' });
  });
});

describe('the texts of a pause', () => {
  test('of a suspension are what was said and rejected, and not what its trace tells', async () => {
    const { commit } = await suspended({ text: 'Which?', attempts, trace });
    const node = commit.index.find(({ path }) => path === 'suspend.json')!;
    const at = (path: string): typeof node => ({ ...node, path });
    const index = [...commit.index, at('output.md.orig'), at('old/attempts/01/output.md')];
    expect(textsOf({ ...commit, index }).toSorted()).toEqual(
      commit.index
        .filter(({ path }) => path === 'output.md' || path.startsWith('attempts/'))
        .map(({ oid }) => oid)
        .toSorted(),
    );
  });

  test('of a resumption are the answer alone', async () => {
    const { repository, waiting } = await suspended();
    const { head } = await resumeThread(repository, waiting, 'the left one');
    if (head.kind !== 'resume') throw new Error('it was resumed');
    const entry = head.index.find(({ path }) => path === 'answer.md')!;
    const node = head.index.find(({ path }) => path === 'resume.json')!;
    const others = ['answer.md.orig', 'old/answer.md', 'output.md'].map((path) => ({ ...node, path }));
    expect(textsOf({ ...head, index: [...others, entry] })).toEqual([entry.oid]);
  });
});
