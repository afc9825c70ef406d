import { describe, expect, test } from 'vitest';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { describeThread } from '../../../src/engine/describe/describe.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { appendStep } from '../../../src/thread/append-step.ts';
import { endThread, suspendThread } from '../../../src/thread/thread-verbs.ts';
import type { ThreadState } from '../../../src/thread/thread-state.ts';
import { createTemporaryRepository, type TemporaryRepository } from '../../helpers/temporary-repository.ts';
import { watched } from '../../helpers/watched-repository.ts';
import { agent, startLoop, stepDraft } from '../../thread/thread-fixture.ts';

async function grow(temporary: TemporaryRepository, steps: number): Promise<ThreadState> {
  const repository = await temporary.open();
  let state = await startLoop(repository, { agents: { writer: agent, checker: agent } });
  for (let number = 1; number <= steps; number += 1) {
    const usage = number % 3 === 0 ? null : { inputTokens: number, outputTokens: 2, turns: 1, costUsd: number / 7 };
    const role = number % 2 === 0 ? 'checker' : 'writer';
    state = await appendStep(repository, state, stepDraft({ role, usage, text: `Reply ${number}.` }));
  }
  return state;
}

const endings: Record<string, (repository: Repository, state: ThreadState) => Promise<ThreadState>> = {
  'that was cancelled': (repository, state) =>
    endThread(repository, state, { outcome: 'cancelled', returnCode: 130, summary: 'Enough.' }),
  'that is suspended': (repository, state) =>
    suspendThread(repository, state, {
      role: 'writer',
      reason: 'Which language?',
      cause: 'agent',
      prompt: 'You are the writer.',
      attempts: [],
      agent,
      rule: 0,
      usage: { inputTokens: 5, outputTokens: 5, turns: 1 },
    }),
};

describe.each(Object.entries(endings))('what is said of a thread %s', (_, finish) => {
  test('takes as many objects, however many steps there are', async () => {
    const counts: number[] = [];
    for (const steps of [4, 10]) {
      const temporary = createTemporaryRepository();
      const state = await finish(await temporary.open(), await grow(temporary, steps));
      const { repository, read } = watched(await temporary.open());
      await describeThread(readingContext(repository), state.id);
      counts.push(read.length);
    }
    expect(counts[1]).toBe(counts[0]);
  });
});
