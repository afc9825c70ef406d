import { afterEach, describe, expect, test, vi } from 'vitest';
import { sharedEvaluator } from '../../../src/expression/evaluation/evaluator-child.ts';
import { ExpressionTimeout } from '../../../src/expression/expression-errors.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { plotOf, type Flow } from '../../helpers/plot.ts';
import { reply, scenario, statuses, type Scenario } from '../../helpers/scenario.ts';
import { startBlock } from '../blocks/block-fixture.ts';

afterEach(() => vi.restoreAllMocks());

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

/** Starts a thread whose two agents report `done`. */
function startWith(flow: Flow, limits: WorkflowDefinition['limits'] = {}): Promise<Scenario> {
  const roles = { coder: statuses('done'), tester: statuses('done') };
  return scenario({ flow, definition: { limits, roles: plotOf({ flow: 'coder > tester', roles }).definition.roles } });
}

const rolesOf = (scene: Scenario): string[] => scene.told('step.started').map(({ role }) => role);
const toCoder = { from: '__start__', to: 'coder' };

describe('a rule that exceeds its limits', () => {
  test('suspends the thread, and is only decided again when that is resumed', async () => {
    const scene = await startWith(['coder', { from: 'coder', to: 'tester', when: needsChild }, 'tester > end']);
    slowOnce();
    expect(await scene.run()).toMatchObject({
      event: 'thread.suspended',
      cause: 'rule',
      role: 'tester',
      text: expect.stringMatching(/^rule 2 \(coder -> tester\) has a when that exceeds its limits: .* within 1000 ms$/),
    });
    await scene.expectSound();
    expect(await scene.resume()).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(rolesOf(scene)).toEqual(['coder', 'tester']);
  });

  test('keeps the answer to a question before it', async () => {
    const agents = { coder: [{ suspend: 'Which language?', reply: '{{ answer }}' }] };
    const flow = [{ ...toCoder, when: needsChild }, 'coder > end'];
    const scene = await scenario({ flow, agents, roles: { coder: statuses('done') } });
    expect(await scene.run()).toMatchObject({ cause: 'agent' });
    slowOnce();
    expect(await scene.resume(reply('done', 'French.'))).toMatchObject({ cause: 'rule' });
    expect(await scene.resume()).toMatchObject({ event: 'thread.ended', text: 'French.\n' });
  });

  const toTester = { from: 'coder', to: 'tester', when: null };
  test.each<[where: string, waits: string, flow: Exclude<Flow, string>, limits?: WorkflowDefinition['limits']]>([
    ['before the first step', 'coder', [{ ...toCoder, when: endless }]],
    ['before an end without a step', 'coder', [{ from: '__start__', to: '__end__', when: endless }, 'start > coder']],
    ['in the prompt of a role', 'tester', ['coder', { ...toTester, prompt: tooLarge }]],
    ['in a location', 'tester', ['coder', { ...toTester, location: tooLarge }]],
    ['in the summary of an end', 'coder', ['coder', `coder > end: ${tooLarge}`]],
    [
      'at a limit',
      'coder',
      ['coder > tester', { from: 'coder', to: '__end__', on: 'limit', when: endless }],
      { maxSteps: 1 },
    ],
  ])('%s stays undecided, and verification does not evaluate it', async (where, waits, flow, limits) => {
    const scene = await startWith([...flow, 'tester > end'], limits);
    const stopped = { event: 'thread.suspended', cause: 'rule', role: waits };
    expect(await scene.run()).toMatchObject(stopped);
    expect(await scene.resume()).toMatchObject(stopped);
    expect(rolesOf(scene)).toEqual(where.startsWith('before') ? [] : ['coder']);
  });

  test('in a branch suspends its block, and both go on together', async () => {
    const { definition: slow } = plotOf({
      flow: ['reader', { from: 'reader', to: '__end__', when: needsChild }],
      roles: { reader: statuses('good', 'bad') },
      definition: { name: 'slow' },
    });
    const branches = { a: { workflow: 'slow' }, b: { workflow: 'review' } };
    const scene = await startBlock({ branches, join: 'all' }, { others: [slow] });
    slowOnce();
    expect(await scene.run()).toMatchObject({
      event: 'thread.suspended',
      cause: 'child',
      text: expect.stringContaining('rule 2 (reader -> __end__) has a when that exceeds its limits'),
    });
    await scene.expectSound();
    expect(await scene.resume()).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(rolesOf(scene).filter((role) => role === 'reader')).toHaveLength(2);
  });
});
