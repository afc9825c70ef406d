import { expect, test } from 'vitest';
import { pastSteps } from '../../../src/engine/turn/decide.ts';
import { ALL_SEEN, NOTHING_SEEN, type StepsSeen } from '../../../src/expression/analysis/steps-seen.ts';
import { appendStep } from '../../../src/thread/append-step.ts';
import { createMemoryRepository } from '../../helpers/memory-repository.ts';
import { startLoop, stepDraft } from '../../thread/thread-fixture.ts';

test('steps that were read without their texts are read again for a rule that looks at texts', async () => {
  const { repository } = await createMemoryRepository();
  const one = await appendStep(repository, await startLoop(repository), stepDraft({ text: 'First.' }));
  const two = await appendStep(repository, one, stepDraft({ role: 'checker', text: 'Second.' }));
  const textsFor = async (seen: StepsSeen): Promise<string[]> =>
    (await pastSteps(repository, two).seenBy(seen)).steps.map(({ text }) => text);
  const rolesOnly = { ...NOTHING_SEEN, members: new Set(['role']) };
  expect(await textsFor(rolesOnly)).toEqual(['', '']);
  expect(await textsFor(ALL_SEEN)).toEqual(['First.', 'Second.']);
  expect(await textsFor(rolesOnly)).toEqual(['', '']);
});
