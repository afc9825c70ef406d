import { afterEach, describe, expect, test, vi } from 'vitest';
import { sharedEvaluator } from '../../../src/expression/evaluation/evaluator-child.ts';
import { ExpressionTimeout } from '../../../src/expression/expression-errors.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { createBlockFixture, withBlock } from '../blocks/block-fixture.ts';
import {
  createFixture,
  expectSound,
  reply,
  rolesOf,
  scripted,
  statuses,
  workflow,
  type EngineFixture,
} from '../engine-fixture.ts';

afterEach(() => vi.restoreAllMocks());

type Rules = WorkflowDefinition['moderator'];

/** Holds in a child process, which {@link slowOnce} makes late. */
const needsChild = "$contains('aab', /^a+b$/)";
const endless = '($f := function($x) { 1 + $f($x) }; $f(1))';
const tooLarge = '{% for i in (1..100000000) %}x{% endfor %}';

/** The machine is too slow for the next evaluation. */
function slowOnce(): void {
  vi.spyOn(sharedEvaluator(), 'evaluate').mockImplementationOnce(({ source, timeoutMs }) =>
    Promise.reject(new ExpressionTimeout(source, timeoutMs)),
  );
}

/** Each role replies once, so a turn that is taken again fails. */
async function startWith(rules: Rules, limits: WorkflowDefinition['limits'] = {}): Promise<Started> {
  const roles = { coder: statuses('done'), tester: statuses('done') };
  const fixture = await createFixture(scripted({ coder: [reply('done')], tester: [reply('done')] }));
  const { thread } = await fixture.engine.start({ definition: workflow('w', roles, rules, { limits }), prompt: 'x' });
  return { ...fixture, thread };
}

type Started = EngineFixture & { thread: string };

const toCoder = { from: '__start__', to: 'coder', when: null };
const toEnd = { from: 'tester', to: '__end__', when: null };

describe('a rule that exceeds its limits', () => {
  test('suspends the thread, and is only decided again when that is resumed', async () => {
    const fixture = await startWith([toCoder, { from: 'coder', to: 'tester', when: needsChild }, toEnd]);
    slowOnce();
    expect(await fixture.engine.run(fixture.thread)).toMatchObject({
      event: 'thread.suspended',
      cause: 'rule',
      role: 'tester',
      text: expect.stringMatching(/^rule 2 \(coder -> tester\) has a when that exceeds its limits: .* within 1000 ms$/),
    });
    await expectSound(fixture);
    expect(await fixture.engine.resume(fixture.thread)).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(rolesOf(fixture)).toEqual(['coder', 'tester']);
    await expectSound(fixture);
  });

  test('keeps the answer to a question before it', async () => {
    const rules = [
      { ...toCoder, when: needsChild },
      { from: 'coder', to: '__end__', when: null },
    ];
    const fixture = await createFixture(scripted({ coder: [{ suspend: 'Which language?', reply: '{{ answer }}' }] }));
    const definition = workflow('w', { coder: statuses('done') }, rules);
    const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
    expect(await fixture.engine.run(thread)).toMatchObject({ cause: 'agent' });
    slowOnce();
    expect(await fixture.engine.resume(thread, { answer: reply('done', 'French.') })).toMatchObject({ cause: 'rule' });
    expect(await fixture.engine.resume(thread)).toMatchObject({ event: 'thread.ended', text: 'French.\n' });
  });

  const toTester = { from: 'coder', to: 'tester', when: null };
  test.each<[where: string, waits: string, rules: Rules, limits?: WorkflowDefinition['limits']]>([
    ['before the first step', 'coder', [{ ...toCoder, when: endless }]],
    ['before an end without a step', 'coder', [{ from: '__start__', to: '__end__', when: endless }, toCoder]],
    ['in the prompt of a role', 'tester', [toCoder, { ...toTester, prompt: tooLarge }]],
    ['in a location', 'tester', [toCoder, { ...toTester, location: tooLarge }]],
    ['in the summary of an end', 'coder', [toCoder, { from: 'coder', to: '__end__', when: null, prompt: tooLarge }]],
    [
      'at a limit',
      'coder',
      [toCoder, toTester, { from: 'coder', to: '__end__', on: 'limit', when: endless }],
      { maxSteps: 1 },
    ],
  ])('%s stays undecided, and verification does not evaluate it', async (_where, waits, rules, limits) => {
    const fixture = await startWith([...rules, toEnd], limits);
    const stopped = { event: 'thread.suspended', cause: 'rule', role: waits };
    expect(await fixture.engine.run(fixture.thread)).toMatchObject(stopped);
    expect(await fixture.engine.resume(fixture.thread)).toMatchObject(stopped);
    expect(rolesOf(fixture)).toEqual(rules[0]?.when === endless ? [] : ['coder']);
    await expectSound(fixture);
  });

  test('in a branch suspends its block, and both go on together', async () => {
    const slow = workflow('slow', { reader: statuses('good', 'bad') }, [
      { from: '__start__', to: 'reader', when: null },
      { from: 'reader', to: '__end__', when: needsChild },
    ]);
    const fixture = await createBlockFixture({}, [slow]);
    const branches = { a: { workflow: 'slow' }, b: { workflow: 'review' } };
    const definition = await withBlock({ branches, join: 'all' });
    const { thread } = await fixture.engine.start({ definition, prompt: 'Go.' });
    slowOnce();
    expect(await fixture.engine.run(thread)).toMatchObject({
      event: 'thread.suspended',
      cause: 'child',
      text: expect.stringContaining('rule 2 (reader -> __end__) has a when that exceeds its limits'),
    });
    await expectSound(fixture);
    expect(await fixture.engine.resume(thread)).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(rolesOf(fixture).filter((role) => role === 'reader')).toHaveLength(2);
    await expectSound(fixture);
  });
});
