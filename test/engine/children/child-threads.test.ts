import { describe, expect, test } from 'vitest';
import type { ThreadId } from '../../../src/thread/thread-id.ts';
import type { WorkflowDefinition } from '../../../src/workflow/definition.ts';
import { plotOf, type Turn } from '../../helpers/plot.ts';
import { scenario, statuses, type Scenario, type ScenarioOptions } from '../../helpers/scenario.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const child = plotOf({ flow: 'worker > end', definition: { name: 'child' } }).definition;

/** A thread whose second role is a workflow of one role, the worker. */
function startParent(worker: Turn[], more: Partial<ScenarioOptions> = {}): Promise<Scenario> {
  const developer = { package: 'builtin:workflow', config: { workflow: 'child' } };
  return scenario({
    flow: ['planner > developer: Build it: {{ _body }}', 'developer > end'],
    agents: { planner: ['planned: A plan.'], developer, worker },
    roles: { developer: statuses('done', 'failed') },
    definition: { name: 'parent' },
    others: [child],
    prompt: 'Make a thing.',
    ...more,
  });
}

const childOf = async (scene: Scenario): Promise<ThreadId> => (await scene.view()).children[0]!;

type Payload = { payload: Record<string, unknown> };

describe('a role that is a workflow', () => {
  test('runs a child thread, and the two know each other by git and by node', async () => {
    const scene = await startParent(['done: Built.']);
    const { engine, git, thread } = scene;
    const over = await scene.run();
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
    expectCleanFsck(scene.dir);
  });

  test('its definition is the one of the time the parent started', async () => {
    let served: WorkflowDefinition = child;
    const scene = await startParent(['done: As it was.'], {
      engine: { resolveWorkflow: () => Promise.resolve(served) },
    });
    served = plotOf({ flow: 'other', definition: { name: 'child' } }).definition;
    expect(await scene.run()).toMatchObject({ event: 'thread.ended', text: 'As it was.\n' });
  });

  test('a child that ended before its parent stored the step is not run again', async () => {
    const scene = await startParent(['done: Once.']);
    const { git, plot } = scene;
    const over = await scene.run();
    // As a crash between the child's end and the parent's step would have left it.
    const planner = git('rev-parse', `${over.head}^^`);
    git('update-ref', `refs/threads/${scene.thread}`, planner);
    git('update-ref', '-d', git('for-each-ref', '--format=%(refname)', `--points-at=${over.head}`));
    const twice = {
      name: 'twice',
      package: 'builtin:scripted',
      config: { replies: { worker: [{ fail: 'paid twice' }] } },
    };
    const { agents, roles } = plot.config;
    const config = { ...plot.config, agents: { ...agents, twice }, roles: { ...roles, worker: 'twice' } };
    const over2 = await scene.beside({ config }).run(scene.thread);
    expect(over2).toMatchObject({ event: 'thread.ended', text: 'Once.\n' });
    expect((await scene.view()).children).toHaveLength(1);
  });

  test.each(['parent', 'child'])('a child that asks suspends both; resuming the %s goes on with both', async (who) => {
    const asking = [{ suspend: 'Which way?', reply: '---\n$status: done\n---\nWent {{ answer }}.' }];
    const scene = await startParent(asking);
    const { engine, git, thread } = scene;
    const waits = { event: 'thread.suspended', text: expect.stringContaining('Which way?') as string };
    expect(await scene.run()).toMatchObject(waits);
    const childId = await childOf(scene);
    expect(await engine.describe(childId)).toMatchObject({ status: 'suspended', parent: thread });
    // A child that is not over comes and goes with its ref: so it does in what is said of its caller.
    const childRef = `refs/threads/${childId}`;
    const childHead = git('rev-parse', childRef);
    git('update-ref', '-d', childRef);
    expect((await scene.view()).children).toEqual([]);
    git('update-ref', childRef, childHead);
    expect((await scene.view()).children).toEqual([childId]);
    await engine.resume(who === 'parent' ? thread : childId, { answer: 'left' });
    expect(await engine.describe(childId)).toMatchObject({ status: 'ended' });
    expect(await scene.view()).toMatchObject({ status: 'ended', reason: 'Went left.' });
    expectCleanFsck(scene.dir);
  });

  test('what a child asks is not passed over after a crash, and an answer is given to one question only', async () => {
    const asks = (suspend: string): Turn => ({ suspend, reply: '---\n$status: done\n---\nWent {{ answer }}.' });
    const scene = await scenario({
      flow: 'developer > end',
      agents: {
        developer: { package: 'builtin:workflow', config: { workflow: 'child' } },
        worker: [asks('Which way?')],
        measurer: [asks('How far?')],
      },
      roles: { developer: statuses('done', 'failed') },
      others: [plotOf({ flow: 'worker > measurer > end', definition: { name: 'child' } }).definition],
    });
    const { git, thread } = scene;
    const waits = (text: string): object => ({ event: 'thread.suspended', text: expect.stringContaining(text) });
    const first = await scene.run();
    const childRef = `refs/threads/${await childOf(scene)}`;
    /** As if the parent had been killed before its own suspension was stored. */
    const killedAt = async (head: string, question: string): Promise<void> => {
      git('update-ref', `refs/threads/${thread}`, `${head}^`);
      const atQuestion = git('rev-parse', childRef);
      expect(await scene.run()).toMatchObject(waits(question));
      expect(git('rev-parse', childRef)).toBe(atQuestion);
    };
    await killedAt(first.head, 'Which way?');
    const second = await scene.resume('left');
    expect(second).toMatchObject(waits('How far?'));
    await killedAt(second.head, 'How far?');
    expect(await scene.resume('a mile')).toMatchObject({ event: 'thread.ended', text: 'Went a mile.' });
    expect(scene.told('thread.started')).toHaveLength(2);
    expectCleanFsck(scene.dir);
  });

  test('cancelling the parent cancels the child', async () => {
    const scene = await startParent([{ suspend: 'Wait.' }]);
    await scene.run();
    const childId = await childOf(scene);
    await scene.engine.cancel(scene.thread);
    expect((await scene.engine.describe(childId)).status).toBe('cancelled');
  });

  test('the depth limit of a role keeps that role from starting child threads', async () => {
    const scene = await startParent(['done: Done.'], { prompt: null });
    const { definition } = scene.plot;
    const roles = Object.entries(definition.roles).map(([name, role]) => [name, { ...role, limits: { maxDepth: 0 } }]);
    await scene.start('x', { definition: { ...definition, roles: Object.fromEntries(roles) as object } });
    const text = expect.stringContaining('0 levels') as string;
    expect(await scene.run()).toMatchObject({ event: 'thread.suspended', text });
  });

  test('a workflow that calls itself stops at the depth limit', async () => {
    const again = { package: 'builtin:workflow', config: { workflow: 'self' } };
    const self = { flow: 'again > end', roles: { again: statuses('done') }, definition: { name: 'self' } };
    const scene = await scenario({
      ...self,
      agents: { again },
      config: { limits: { maxDepth: 2 } },
      others: [plotOf(self).definition],
    });
    const text = expect.stringContaining('2 levels') as string;
    expect(await scene.run()).toMatchObject({ event: 'thread.suspended', text });
    expect((await scene.engine.list()).map(({ status }) => status)).toEqual(['suspended', 'suspended', 'suspended']);
  });
});
