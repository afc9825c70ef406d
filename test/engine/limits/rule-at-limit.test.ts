import { describe, expect, test } from 'vitest';
import { simulateThread } from '../../../src/engine/verbs/simulate.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { encodeWorkflow, loadWorkflow } from '../../../src/workflow/nodes.ts';
import type { Flow } from '../../helpers/plot.ts';
import { scenario, type Scenario } from '../../helpers/scenario.ts';

const rules = [
  'coder > tester',
  { from: 'tester', to: 'writer', when: "$visits('coder') = 2", on: 'limit', prompt: 'Say why it failed.' },
  'tester [limit] > end = 3: Gave up.',
  'tester > coder',
  'writer > end',
] as const;

/** A coder who is sent back for ever. */
function start(limits?: WorkflowDefinition['limits'], flow: Flow = rules): Promise<Scenario> {
  const agents = { tester: ['failed: It fails.'], writer: ['told: So it was.'] };
  return scenario({ flow, agents, definition: { ...(limits && { limits }) } });
}

/** The roles whose turns have begun, in their order. */
const rolesOf = (scene: Scenario): string =>
  scene
    .told('step.started')
    .map(({ role }) => role)
    .join(' ');

describe('a rule for a limit', () => {
  test('gives the turn to another role instead of suspending', async () => {
    const scene = await start({ maxVisits: 2 });
    expect(await scene.run()).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(rolesOf(scene)).toBe('coder tester coder tester writer');
  });

  test('ends the thread, also where only one step is taken', async () => {
    const scene = await start({ maxSteps: 2 });
    expect(await scene.step(2)).toMatchObject({ status: 'failed', over: { returnCode: 3 } });
    expect(rolesOf(scene)).toBe('coder tester');
  });

  test('is not taken where it leads to a role that may not run either', async () => {
    const scene = await start({ maxSteps: 4 });
    expect(await scene.run()).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(rolesOf(scene)).toBe('coder tester coder tester');
    // More steps, and the thread goes on as without the rule.
    expect(await scene.resume({ more: { maxSteps: 2 } })).toMatchObject({ returnCode: 3 });
  });

  test('leaves threads alone that meet no limit', async () => {
    const third = { from: 'tester', to: '__end__', when: "$visits('tester') = 3" };
    const scene = await start(undefined, [...rules.slice(0, 3), third, ...rules.slice(3)]);
    expect(await scene.run()).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(scene.told('step.started')).toHaveLength(6);
  });

  test('is stored with the definition, and found again', async () => {
    const { repository, plot } = await start({ maxVisits: 2 });
    expect(await loadWorkflow(repository, encodeWorkflow(plot.definition).hash)).toEqual(plot.definition);
  });

  test('is no divergence of the thread that it has decided', async () => {
    const scene = await start({ maxVisits: 2 });
    await scene.run();
    const { repository, plot } = scene;
    const pointer = await getThread(repository, scene.thread);
    expect(await simulateThread(repository, pointer, plot.definition)).toMatchObject({ divergence: null });
    const moderator = plot.definition.moderator.filter(({ to }) => to !== 'writer');
    expect(await simulateThread(repository, pointer, { ...plot.definition, moderator })).toMatchObject({
      divergence: { afterSteps: 4, was: 'writer' },
    });
  });
});
