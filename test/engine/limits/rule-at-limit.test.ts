import { describe, expect, test } from 'vitest';
import { simulateThread } from '../../../src/engine/verbs/simulate.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { encodeWorkflow } from '../../../src/workflow/nodes/encode-workflow.ts';
import { loadWorkflow } from '../../../src/workflow/nodes/load-workflow.ts';
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

const rules: WorkflowDefinition['moderator'] = [
  { from: '__start__', to: 'coder', when: null },
  { from: 'coder', to: 'tester', when: null },
  { from: 'tester', to: 'writer', when: "$visits('coder') = 2", on: 'limit', prompt: 'Say why it failed.' },
  { from: 'tester', to: '__end__', when: null, on: 'limit', returnCode: 3, prompt: 'Gave up.' },
  { from: 'tester', to: 'coder', when: null },
  { from: 'writer', to: '__end__', when: null },
];

/** A coder who is sent back for ever. */
async function start(limits: WorkflowDefinition['limits'], moderator = rules): Promise<Started> {
  const roles = { coder: statuses('done'), tester: statuses('failed'), writer: statuses('told') };
  const definition = workflow('w', roles, moderator, { ...(limits && { limits }) });
  const replies = { coder: 'done', tester: 'failed', writer: 'told' };
  const config = scripted(
    Object.fromEntries(
      Object.entries(replies).map(([role, status]) => [
        role,
        Array.from({ length: 9 }, () => ({ reply: reply(status) })),
      ]),
    ),
  );
  const fixture = await createFixture(config);
  const { thread } = await fixture.engine.start({ definition, prompt: 'x' });
  return { ...fixture, thread, definition };
}

type Started = EngineFixture & { thread: string; definition: WorkflowDefinition };

describe('a rule for a limit', () => {
  test('gives the turn to another role instead of suspending', async () => {
    const fixture = await start({ maxVisits: 2 });
    expect(await fixture.engine.run(fixture.thread)).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(rolesOf(fixture)).toEqual(['coder', 'tester', 'coder', 'tester', 'writer']);
    await expectSound(fixture);
  });

  test('ends the thread, also where only one step is taken', async () => {
    const fixture = await start({ maxSteps: 2 });
    const { engine, thread } = fixture;
    await engine.step(thread);
    expect(await engine.step(thread)).toMatchObject({ status: 'failed', over: { returnCode: 3 } });
    expect(rolesOf(fixture)).toEqual(['coder', 'tester']);
    await expectSound(fixture);
  });

  test('is not taken where it leads to a role that may not run either', async () => {
    const fixture = await start({ maxSteps: 4 });
    expect(await fixture.engine.run(fixture.thread)).toMatchObject({ event: 'thread.suspended', cause: 'limit' });
    expect(rolesOf(fixture)).toEqual(['coder', 'tester', 'coder', 'tester']);
    // More steps, and the thread goes on as without the rule.
    expect(await fixture.engine.resume(fixture.thread, { more: { maxSteps: 2 } })).toMatchObject({ returnCode: 3 });
    await expectSound(fixture);
  });

  test('leaves threads alone that meet no limit', async () => {
    const fixture = await start(undefined, [
      ...rules.slice(0, 4),
      { from: 'tester', to: '__end__', when: "$visits('tester') = 3" },
      ...rules.slice(4),
    ]);
    expect(await fixture.engine.run(fixture.thread)).toMatchObject({ event: 'thread.ended', returnCode: 0 });
    expect(rolesOf(fixture)).toHaveLength(6);
    await expectSound(fixture);
  });

  test('is stored with the definition, and found again', async () => {
    const { repository, definition } = await start({ maxVisits: 2 });
    const stored = await loadWorkflow(repository, encodeWorkflow(definition).hash);
    expect(stored).toEqual(definition);
  });

  test('is no divergence of the thread that it has decided', async () => {
    const { repository, engine, thread, definition } = await start({ maxVisits: 2 });
    await engine.run(thread);
    const pointer = await getThread(repository, thread);
    expect(await simulateThread(repository, pointer, definition)).toMatchObject({ divergence: null });
    const moderator = definition.moderator.filter(({ to }) => to !== 'writer');
    expect(await simulateThread(repository, pointer, { ...definition, moderator })).toMatchObject({
      divergence: { afterSteps: 4, was: 'writer' },
    });
  });
});
