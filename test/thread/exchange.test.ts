import { describe, expect, test } from 'vitest';
import type { Repository } from '../../src/git/repository.ts';
import { resumeThread, suspendThread, type SuspensionDraft } from '../../src/thread/thread-verbs.ts';
import { type ExchangeCommit, hasFailed, readExchange } from '../../src/thread/exchange.ts';
import type { CommitOf } from '../../src/thread/thread-state.ts';
import { createMapRepository } from '../helpers/map-repository.ts';
import { agent, startLoop } from './thread-fixture.ts';

const prompt = 'Write a poem.\nBe brief.';
const waits: SuspensionDraft = {
  role: 'writer',
  reason: 'Which metre?',
  cause: 'agent',
  text: 'I cannot choose.',
  prompt,
  agent,
  rule: 0,
  usage: null,
  attempts: [],
};
const refused = (text: string, ...errors: string[]) => ({ text, errors, usage: null });

/** The suspension of a thread that waits so. */
async function suspended(
  draft: Partial<SuspensionDraft>,
  repository: Repository = createMapRepository(),
): Promise<{ repository: Repository; commit: CommitOf<'suspend'> }> {
  const { head } = await suspendThread(repository, await startLoop(repository), { ...waits, ...draft });
  if (head.kind !== 'suspend') throw new Error('it does not wait');
  return { repository, commit: head };
}

const told = async (draft: Partial<SuspensionDraft>) => {
  const { repository, commit } = await suspended(draft);
  const [first] = await readExchange(repository, [{ commit, after: 3 }]);
  return first;
};

describe('what a role and a person said to each other', () => {
  test('is what the agent asked, what it said before, and its refused replies, the oldest first', async () => {
    const attempts = [refused('one', 'no $status', 'no words'), refused('two', 'too long')];
    expect(await told({ attempts })).toEqual({
      after: 3,
      kind: 'suspended',
      cause: 'agent',
      reason: 'Which metre?',
      said: 'I cannot choose.',
      refused: [
        { text: 'one', errors: ['no $status', 'no words'] },
        { text: 'two', errors: ['too long'] },
      ],
    });
  });

  test('holds the answer, and none where a person only let the thread go on', async () => {
    const repository = createMapRepository();
    const commits: ExchangeCommit[] = [];
    let state = await startLoop(repository);
    for (const [after, answer] of [[0, 'Iambic.'] as const, [1, undefined] as const]) {
      state = await suspendThread(repository, state, waits);
      state = await resumeThread(repository, state, answer);
      if (state.head.kind === 'resume') commits.push({ commit: state.head, after });
    }
    expect(await readExchange(repository, commits)).toEqual([
      { after: 0, kind: 'resumed', words: 'Iambic.' },
      { after: 1, kind: 'resumed', words: undefined },
    ]);
  });

  test('does not repeat the prompt that an agent gave back', async () => {
    const text = `You said:\n${prompt}\nand then:\n${prompt}`;
    const first = await told({ text, attempts: [refused(`${prompt}!`, 'wrong')] });
    expect(first).toMatchObject({
      said: 'You said:\n[the prompt]\n\nand then:\n[the prompt]\n',
      refused: [{ text: '[the prompt]\n!', errors: ['wrong'] }],
    });
  });

  test('keeps a text as it is where the prompt is empty', async () => {
    expect(await told({ prompt: '', text: 'words' })).toMatchObject({ said: 'words' });
  });

  test('leaves out the form that a person was shown, and keeps what stands for it by itself', async () => {
    expect(await told({ cause: 'human', text: `${prompt}\n---\n$status:\n---\n` })).toMatchObject({ said: '' });
    expect(await told({ cause: 'human', text: 'Not the prompt.' })).toMatchObject({ said: 'Not the prompt.' });
    expect(await told({ cause: 'agent', text: `${prompt} More.` })).toMatchObject({ said: '[the prompt]\n More.' });
  });

  test.each(['agent', 'invalid-reply'] as const)(
    'tells the last reply of a turn that was given up once, where the cause is %s',
    async (cause) => {
      const attempts = [refused('one', 'a'), refused('two', 'b')];
      expect(await told({ cause, text: 'two', attempts })).toMatchObject({
        said: 'two',
        refused: [{ text: 'one', errors: ['a'] }],
      });
    },
  );

  test('tells all refused replies where a turn ended for another cause', async () => {
    const attempts = [refused('one', 'a')];
    const first = await told({ cause: 'timeout', text: 'one', attempts });
    expect(first).toMatchObject({ said: 'one', refused: [{ text: 'one', errors: ['a'] }] });
  });
});

describe('a turn has failed', () => {
  const attempts = [refused('two', 'b')];
  test.each([
    [true, { text: 'two', attempts }],
    [false, { text: 'a question', attempts }],
    [false, { text: 'two', attempts: [] }],
    [false, { cause: 'invalid-reply', text: 'two', attempts }],
    [false, { cause: 'human', text: 'two', attempts }],
  ] as const)('%s: %j', async (isFailed, draft) => {
    const { repository, commit } = await suspended(draft);
    expect(await hasFailed(repository, commit)).toBe(isFailed);
  });
});
