import { afterAll, describe, expect, test } from 'vitest';
import { prepareHashing } from '../../src/cas/hash.ts';
import { TimeBudget } from '../../src/verify/step-history.ts';
import { sharedEvaluator } from '../../src/expression/evaluation/evaluator-child.ts';
import type { WorkflowDefinition } from '../../src/workflow/definition.ts';
import { encodeWorkflow } from '../../src/workflow/nodes.ts';
import { loop } from '../thread/thread-fixture.ts';

afterAll(() => sharedEvaluator().close());

async function hashOf(definition: WorkflowDefinition): Promise<ReturnType<typeof encodeWorkflow>['hash']> {
  await prepareHashing();
  return encodeWorkflow(definition).hash;
}

function loopWhen(when: string): WorkflowDefinition {
  return { ...loop, moderator: [...loop.moderator, { from: 'checker', to: 'writer', when }] };
}

describe('the patience with workflows of others', () => {
  test('ends at a rule that does not end, and does not begin again', async () => {
    const patience = new TimeBudget();
    const definition = loopWhen(`$contains('${'a'.repeat(40)}!', /^(a+)+$/)`);
    const hash = await hashOf(definition);
    const judge = (): Promise<string[]> => Promise.reject(new Error('it is not asked'));
    expect(await patience.spend(hash, definition, judge)).toEqual([expect.stringContaining('did not end within')]);
    expect(await patience.spend(hash, definition, judge)).toEqual([expect.stringContaining('did not end within')]);
    // The child was killed the first time, and another try would have started one.
    expect(sharedEvaluator().pid).toBeUndefined();
  });

  test('is not tried by more expressions than can be parsed in time', async () => {
    const definition = loopWhen(`${'1 + '.repeat(15_000)}1`);
    const moderator = [1, 2, 3, 4, 5].map((number) => ({
      from: 'checker',
      to: 'writer',
      when: `${number} + ${definition.moderator.at(-1)?.when}`,
    }));
    const large = { ...loop, moderator };
    expect(await new TimeBudget().faultOf(await hashOf(large), large)).toContain('more than the 262144 allowed');
  });

  test('lets everything else be judged, whatever the judge says', async () => {
    const faults = ['a fault'];
    expect(await new TimeBudget().spend(await hashOf(loop), loop, () => Promise.resolve(faults))).toBe(faults);
  });
});
