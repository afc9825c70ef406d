import { expect, test } from 'vitest';
import { readSaid } from '../../../src/thread/read-said.ts';
import { readingContext } from '../../../src/engine/engine-context.ts';
import { createEngine, type Engine } from '../../../src/engine/engine.ts';
import type { Repository } from '../../../src/git/repository.ts';
import { verifyThreads } from '../../../src/verify/verify-threads.ts';
import { validateWorkflow } from '../../../src/workflow/check/validate-workflow.ts';
import { createTemporaryRepository, runGit } from '../../helpers/temporary-repository.ts';
import { rulesOf } from '../../helpers/plot.ts';

test('a person who answers is the author of the turn, also where another machine takes it', async () => {
  const temporary = createTemporaryRepository();
  const repository = await temporary.open();
  const { definition } = await validateWorkflow({
    name: 'gate',
    roles: { judge: { schema: {} } },
    moderator: rulesOf('judge > end'),
  });
  if (definition === undefined) throw new Error('the workflow has a mistake');
  const agents = { me: { name: 'me', package: 'builtin:human', config: {} } };
  const engineOf = (name: string): Engine => {
    const own: Repository = { ...repository, committer: { name, email: `${name}@x` } };
    return createEngine({ repository: own, config: { agents, defaultAgent: 'me', roles: {} }, cwd: temporary.dir });
  };
  const { thread } = await engineOf('ann').start({ definition, prompt: 'x' });
  await engineOf('ann').run(thread);
  await engineOf('bob').answer(thread, { answer: 'It may.' });
  await engineOf('worker').run(thread);
  const said = await readSaid(repository, thread);
  expect(said.map(({ kind, by }) => [kind, by])).toEqual([
    ['start', 'ann <ann@x>'],
    ['suspend', undefined],
    ['resume', 'bob <bob@x>'],
    ['step', 'bob <bob@x>'],
  ]);
  const [head = ''] = runGit(temporary.dir, ['for-each-ref', '--format=%(objectname)', 'refs/history']).split('\n');
  const persons = runGit(temporary.dir, ['log', '--first-parent', '--reverse', '--format=%an %cn', head])
    .trim()
    .split('\n');
  expect(persons).toEqual(['ann ann', 'ann ann', 'bob bob', 'bob worker', 'worker worker']);
  for await (const verdict of verifyThreads(readingContext(repository)))
    expect(verdict).toMatchObject({ findings: [] });

  const next = await engineOf('ann').start({ definition, prompt: 'y' });
  await engineOf('eve').cancel(next.thread, { reason: 'no' });
  expect(await engineOf('ann').describe(next.thread)).toMatchObject({
    status: 'cancelled',
    cancelledBy: 'eve <eve@x>',
  });
});
