import { expect, test } from 'vitest';
import { createEngineContext } from '../../../src/engine/engine-context.ts';
import { BranchesElsewhere } from '../../../src/engine/engine-errors.ts';
import { findNextTurn, type Outlook } from '../../../src/engine/describe/next-turn.ts';
import { getThread } from '../../../src/thread/find-thread.ts';
import { createTemporaryFolder } from '../../helpers/temporary-repository.ts';
import { reply, scripted } from '../engine-fixture.ts';
import { createBlockFixture, withBlock } from '../blocks/block-fixture.ts';

const plan = '---\nphases: []\n---\nA plan.\n';
const good = { workflow: 'review', prompt: 'Look well at {{ key }}.' };

test('a branch has a turn for any machine until its caller has gone on without it', async () => {
  const options = { sharesTurns: true, workTrees: createTemporaryFolder() };
  const fixture = await createBlockFixture({ config: scripted({ planner: [plan, plan] }) }, [], options);
  const { engine, repository, git } = fixture;
  git('commit', '-q', '--allow-empty', '-m', 'code');
  const definition = await withBlock({ isolation: 'worktree', branches: { a: good, b: good }, join: 'all' });
  const { thread } = await engine.start({ definition, prompt: 'Go.' });
  await engine.step(thread);
  await expect(engine.step(thread)).rejects.toBeInstanceOf(BranchesElsewhere);
  const branches = (await engine.list()).filter((each) => each.thread !== thread);
  expect(branches).toHaveLength(2);
  const outlooks = async (): Promise<Outlook[]> => {
    const context = createEngineContext({ repository, config: { agents: {}, roles: {} }, sharesTurns: true });
    return Promise.all(branches.map(async (each) => findNextTurn(context, await getThread(repository, each.thread))));
  };
  expect(await outlooks()).toMatchObject([{ role: 'reader' }, { role: 'reader' }]);
  const ofCaller = async (isShared: boolean): Promise<Outlook> => {
    const context = createEngineContext({ repository, config: { agents: {}, roles: {} }, sharesTurns: true });
    return findNextTurn(context, await getThread(repository, thread), async () => isShared);
  };
  expect(await ofCaller(true)).toBe('later');
  // Its branches were started and not published, so no machine runs them before the block is taken again.
  expect(await ofCaller(false)).toMatchObject({ role: expect.any(String) });
  await engine.step(thread, { role: 'planner' });
  expect(await outlooks()).toEqual(['later', 'later']);
});

test('a block whose budget is used up has no turn for the branches that it may not start', async () => {
  const options = { sharesTurns: true, workTrees: createTemporaryFolder() };
  const config = scripted({ planner: [plan] });
  const spent = { reply: reply('good'), usage: { turns: 1, inputTokens: 7, outputTokens: 3, costUsd: 1 } };
  config.agents['paid'] = { name: 'paid', package: 'builtin:scripted', config: { replies: { reader: [spent] } } };
  config.roles['reader'] = 'paid';
  const { engine, repository, git } = await createBlockFixture({ config }, [], options);
  git('commit', '-q', '--allow-empty', '-m', 'code');
  const each = { over: '[1..4]', as: 'n', key: '$string(n)', workflow: 'review', prompt: 'Look.', atOnce: 2 };
  const block = await withBlock({ isolation: 'worktree', each, join: 'all' });
  const { thread } = await engine.start({ definition: { ...block, limits: { maxCostUsd: 1 } }, prompt: 'Go.' });
  await engine.step(thread);
  await expect(engine.step(thread)).rejects.toBeInstanceOf(BranchesElsewhere);
  const [branch = ''] = (await engine.list()).map((one) => one.thread).filter((one) => one !== thread);
  const ofCaller = async (): Promise<Outlook> => {
    const context = createEngineContext({ repository, config: { agents: {}, roles: {} }, sharesTurns: true });
    return findNextTurn(context, await getThread(repository, thread));
  };
  await engine.step(branch);
  // The other one goes on elsewhere, and there is room for a third.
  expect(await ofCaller()).toBe('later');
});
