import { expect, test } from 'vitest';
import {
  endThread,
  reopenThread,
  resumeThread,
  suspendThread,
  type SuspensionDraft,
} from '../../../src/thread/thread-verbs.ts';
import { readStandingAnswer, type StandingAnswer } from '../../../src/thread/exchange.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import { agent, startLoop } from '../thread-fixture.ts';

const { repository } = await createMemoryRepository();
const question = { cause: 'human' as const, reason: 'Approved?' };

/** A thread whose writer stopped and was let go on, again and again. */
async function after(...pauses: [Partial<SuspensionDraft>, answer?: string][]): Promise<ThreadState> {
  let state = await startLoop(repository);
  const draft = { role: 'writer', prompt: 'p', agent, rule: 0, usage: null, attempts: [] };
  for (const [pause, answer] of pauses) {
    const suspension = { ...draft, cause: 'agent' as const, reason: 'Why?', ...pause };
    state = await resumeThread(repository, await suspendThread(repository, state, suspension), answer);
  }
  return state;
}

const standing = ({ pauses }: ThreadState, role = 'writer'): Promise<StandingAnswer | undefined> =>
  readStandingAnswer(repository, pauses, role);
const failed = { reason: 'writer failed: no net', text: '', attempts: [{ text: '', errors: ['no net'], usage: null }] };

test('the answer to a question stands, also where a limit kept the turn from beginning', async () => {
  expect(await standing(await after([question, 'Yes.']))).toEqual({
    text: 'Yes.',
    question: 'Approved?',
    isKnown: false,
  });
  const limited = await after([question, 'Yes.'], [{ cause: 'limit', reason: 'the limit' }, 'Go on.']);
  expect(await standing(limited)).toEqual({ text: 'Yes.', question: 'Approved?', isKnown: false });
});

test('it stands after a turn that failed or ran out of time, which has had it', async () => {
  const final = { ...failed, reason: 'writer failed: no net; it is not run again until the thread is resumed' };
  for (const turn of [failed, final, { cause: 'timeout' as const, text: 'Half' }]) {
    expect(await standing(await after([question, 'Yes.'], [turn]))).toEqual({
      text: 'Yes.',
      question: 'Approved?',
      isKnown: true,
    });
  }
});

test('it is over with another question, and with a reply that was not accepted', async () => {
  for (const turn of [question, {}, { cause: 'invalid-reply' as const }, { ...failed, text: 'Which one?' }]) {
    expect(await standing(await after([question, 'Yes.'], [turn]))).toBeUndefined();
  }
});

test('what is said to another role, or of an ended thread, is none', async () => {
  expect(await standing(await after([question, 'Yes.']), 'checker')).toBeUndefined();
  const ended = await endThread(repository, await after(), { outcome: 'completed', returnCode: 0, summary: '' });
  expect(await standing(await reopenThread(repository, ended, 'More.'))).toBeUndefined();
});
