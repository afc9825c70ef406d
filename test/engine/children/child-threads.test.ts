import { describe, expect, test } from 'vitest';
import type { Config } from '../../../src/engine/config/config.ts';
import { createEngine } from '../../../src/engine/engine.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { createFixture, reply, scripted, statuses, workflow } from '../engine-fixture.ts';

const child = workflow('child', { worker: statuses('done') }, 'worker > end');

const parent = workflow('parent', { planner: statuses('planned'), developer: statuses('done', 'failed') }, [
  'planner > developer: Build it: {{ _body }}',
  'developer > end',
]);

function configWith(worker: unknown): Config {
  const replies = { planner: [reply('planned', 'A plan.')], worker } as never;
  const config = scripted(replies);
  config.agents['sub'] = { name: 'sub', package: 'builtin:workflow', config: { workflow: 'child' } };
  config.roles['parent.developer'] = 'sub';
  return config;
}

const resolveWorkflow = (name: string): Promise<WorkflowDefinition> =>
  name === 'child' ? Promise.resolve(child) : Promise.reject(new Error(`no ${name}`));

type Payload = { payload: Record<string, unknown> };

describe('a role that is a workflow', () => {
  test('runs a child thread, and the two know each other by git and by node', async () => {
    const { engine, git, dir } = await createFixture(configWith([reply('done', 'Built.')]), { resolveWorkflow });
    const { thread } = await engine.start({ definition: parent, prompt: 'Make a thing.' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.ended', text: 'Built.\n' });

    const view = await engine.describe(thread);
    expect(view.children).toHaveLength(1);
    const [childId = ''] = view.children;
    const childView = await engine.describe(childId);
    expect(childView).toMatchObject({
      parent: thread,
      depth: 1,
      status: 'ended',
      workflow: 'child',
      prompt: 'Build it: A plan.',
    });

    // The end of the child is part of its caller: it is one of its children without a ref of its own as well.
    const [childRef = ''] = git('for-each-ref', '--format=%(refname)', `refs/history/**/${childId}`).split('\n');
    git('update-ref', '-d', childRef);
    expect((await engine.describe(thread)).children).toEqual([childId]);
    git('update-ref', childRef, childView.head);
    expect((await engine.describe(thread)).children).toEqual([childId]);

    const show = (commit: string, file: string): Payload => JSON.parse(git('show', `${commit}:${file}`)) as Payload;
    const childStartCommit = git('log', '--format=%H', '--first-parent', childView.head).split('\n')[2] ?? '';
    const start = show(childStartCommit, 'start.json').payload;
    const plannerStep = git('rev-parse', `${over.head}^^`);
    const hashAt = (commit: string, path: string): string =>
      git('show', `${commit}:index`)
        .split('\n')
        .find((line) => line.endsWith(` ${path}`))
        ?.slice(0, 13) ?? '';
    expect(start).toMatchObject({
      depth: 1,
      parentState: hashAt(plannerStep, 'step.json'),
      parentThread: hashAt(`${plannerStep}^`, 'start.json'),
      parentRole: 'developer',
    });
    expect(git('rev-parse', `${childStartCommit}^`)).toBe(plannerStep);
    const developerStep = `${over.head}^`;
    expect(show(developerStep, 'step.json').payload['childThreads']).toEqual([hashAt(childView.head, 'end.json')]);
    expect(git('rev-parse', `${developerStep}^2`)).toBe(childView.head);
    expect(git('log', '--first-parent', '--format=%s', over.head).split('\n')).toEqual([
      'completed: Built.',
      'developer: Built.',
      'planner: A plan.',
      'parent: Make a thing.',
    ]);
    // The child is drawn between the two steps.
    const graph = git('log', '--graph', '--format=%s', over.head);
    expect(graph).toMatch(
      /\* {3}developer: Built\.[\s\S]*\| \* completed: Built\.[\s\S]*\| \* worker: Built\.[\s\S]*\| \* child: Build it: A plan\.[\s\S]*\* planner: A plan\./,
    );
    expectCleanFsck(dir);
  });

  test('its definition is the one of the time the parent started', async () => {
    let served = child;
    const { engine } = await createFixture(configWith([reply('done', 'As it was.')]), {
      resolveWorkflow: () => Promise.resolve(served),
    });
    const { thread } = await engine.start({ definition: parent, prompt: 'x' });
    served = workflow('child', { other: statuses('done') }, [{ from: '__start__', to: 'other', when: null }]);
    expect(await engine.run(thread)).toMatchObject({ event: 'thread.ended', text: 'As it was.\n' });
  });

  test('a child that ended before its parent stored the step is not run again', async () => {
    const { engine, repository, git } = await createFixture(configWith([reply('done', 'Once.')]), { resolveWorkflow });
    const { thread } = await engine.start({ definition: parent, prompt: 'x' });
    const over = await engine.run(thread);
    // As a crash between the child's end and the parent's step would have left it.
    const planner = git('rev-parse', `${over.head}^^`);
    git('update-ref', `refs/threads/${thread}`, planner);
    git('update-ref', '-d', git('for-each-ref', '--format=%(refname)', `--points-at=${over.head}`));
    const paidAgain = createEngine({ repository, config: configWith([{ fail: 'paid twice' }]), resolveWorkflow });
    expect(await paidAgain.run(thread)).toMatchObject({ event: 'thread.ended', text: 'Once.\n' });
    expect((await paidAgain.describe(thread)).children).toHaveLength(1);
  });

  test.each(['parent', 'child'])('a child that asks suspends both; resuming the %s goes on with both', async (who) => {
    const asking = [{ suspend: 'Which way?', reply: '---\n$status: done\n---\nWent {{ answer }}.' }];
    const { engine, dir, git } = await createFixture(configWith(asking), { resolveWorkflow });
    const { thread } = await engine.start({ definition: parent, prompt: 'x' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('Which way?') });
    const [childId = ''] = (await engine.describe(thread)).children;
    expect(await engine.describe(childId)).toMatchObject({ status: 'suspended', parent: thread });
    // A child that is not over comes and goes with its ref: so it does in what is said of its caller.
    const childRef = `refs/threads/${childId}`;
    const childHead = git('rev-parse', childRef);
    git('update-ref', '-d', childRef);
    expect((await engine.describe(thread)).children).toEqual([]);
    git('update-ref', childRef, childHead);
    expect((await engine.describe(thread)).children).toEqual([childId]);
    await engine.resume(who === 'parent' ? thread : childId, { answer: 'left' });
    expect(await engine.describe(childId)).toMatchObject({ status: 'ended' });
    expect(await engine.describe(thread)).toMatchObject({ status: 'ended', reason: 'Went left.' });
    expectCleanFsck(dir);
  });

  test('what a child asks is not passed over after a crash, and an answer is given to one question only', async () => {
    const curious = workflow(
      'child',
      { worker: statuses('done'), measurer: statuses('done') },
      'worker > measurer > end',
    );
    const config = configWith([]);
    const asks = (suspend: string): unknown => ({ suspend, reply: '---\n$status: done\n---\nWent {{ answer }}.' });
    const replies = { planner: [reply('planned')], worker: [asks('Which way?')], measurer: [asks('How far?')] };
    config.agents['script'] = { name: 'script', package: 'builtin:scripted', config: { replies } as never };
    const { engine, git, dir, events } = await createFixture(config, {
      resolveWorkflow: () => Promise.resolve(curious),
    });
    const { thread } = await engine.start({ definition: parent, prompt: 'x' });
    const ref = `refs/threads/${thread}`;
    const first = await engine.run(thread);
    const [childId = ''] = (await engine.describe(thread)).children;

    // As if the parent had been killed before its own suspension was stored.
    git('update-ref', ref, `${first.head}^`);
    const atFirstQuestion = git('rev-parse', `refs/threads/${childId}`);
    expect(await engine.run(thread)).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining('Which way?'),
    });
    expect(git('rev-parse', `refs/threads/${childId}`)).toBe(atFirstQuestion);

    const second = await engine.resume(thread, { answer: 'left' });
    expect(second).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('How far?') });
    git('update-ref', ref, `${second.head}^`);
    const atSecondQuestion = git('rev-parse', `refs/threads/${childId}`);
    expect(await engine.run(thread)).toMatchObject({
      event: 'thread.suspended',
      text: expect.stringContaining('How far?'),
    });
    expect(git('rev-parse', `refs/threads/${childId}`)).toBe(atSecondQuestion);

    expect(await engine.resume(thread, { answer: 'a mile' })).toMatchObject({
      event: 'thread.ended',
      text: 'Went a mile.',
    });
    expect(events.filter((event) => event.event === 'thread.started')).toHaveLength(2);
    expectCleanFsck(dir);
  });

  test('cancelling the parent cancels the child', async () => {
    const { engine } = await createFixture(configWith([{ suspend: 'Wait.' }]), { resolveWorkflow });
    const { thread } = await engine.start({ definition: parent, prompt: 'x' });
    await engine.run(thread);
    const [childId = ''] = (await engine.describe(thread)).children;
    await engine.cancel(thread);
    expect((await engine.describe(childId)).status).toBe('cancelled');
  });

  test('the depth limit of a role keeps that role from starting child threads', async () => {
    const limited = { ...parent, roles: { ...parent.roles } };
    for (const role of Object.keys(limited.roles)) {
      const definition = limited.roles[role];
      if (definition) limited.roles[role] = { ...definition, limits: { maxDepth: 0 } };
    }
    const { engine } = await createFixture(configWith(['---\n$status: done\n---\n']), { resolveWorkflow });
    const { thread } = await engine.start({ definition: limited, prompt: 'x' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('0 levels') });
  });

  test('a workflow that calls itself stops at the depth limit', async () => {
    const self = workflow('self', { again: statuses('done') }, 'again > end');
    const config: Config = {
      agents: { me: { name: 'me', package: 'builtin:workflow', config: { workflow: 'self' } } },
      defaultAgent: 'me',
      roles: {},
      limits: { maxDepth: 2 },
    };
    const { engine } = await createFixture(config, { resolveWorkflow: () => Promise.resolve(self) });
    const { thread } = await engine.start({ definition: self, prompt: 'x' });
    const over = await engine.run(thread);
    expect(over).toMatchObject({ event: 'thread.suspended', text: expect.stringContaining('2 levels') });
    expect((await engine.list()).map((summary) => summary.status)).toEqual(['suspended', 'suspended', 'suspended']);
  });
});
