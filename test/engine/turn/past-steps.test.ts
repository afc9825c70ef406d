import { expect, test } from 'vitest';
import { pastSteps } from '../../../src/engine/turn/past-steps.ts';
import { ALL_SEEN, NOTHING_SEEN } from '../../../src/expression/analysis/steps-seen.ts';
import { appendStep } from '../../../src/thread/append/append-step.ts';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import { startLoop, stepDraft } from '../../thread/thread-fixture.ts';

test('steps that were read without their texts are read again for a rule that looks at texts', async () => {
  const { repository } = await createMemoryRepository();
  const one = await appendStep(repository, await startLoop(repository), stepDraft({ text: 'First.' }));
  const two = await appendStep(repository, one, stepDraft({ role: 'checker', text: 'Second.' }));
  for (const seen of [{ ...NOTHING_SEEN, newest: 2 }, ALL_SEEN]) {
    const textsOf = async (hasTexts: boolean): Promise<string[]> =>
      (await pastSteps(repository, two, hasTexts).seenBy(seen)).steps.map(({ text }) => text);
    expect(await textsOf(false)).toEqual(['', '']);
    expect(await textsOf(true)).toEqual(['First.', 'Second.']);
    expect(await textsOf(false)).toEqual(['', '']);
  }
});
