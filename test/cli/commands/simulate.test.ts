import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createCliRepository, scriptedConfig, type CliRepository } from '../../helpers/cli.ts';

const develop = readFileSync(new URL('../../../fixtures/workflows/develop.yaml', import.meta.url), 'utf8');

const testerRule = `  - from: reviewer
    to: tester
    when: $last('reviewer').\`$status\` = 'approved'
    prompt: The changes are approved. Run the tests.
`;

type Result = { threads: number; decisions: number; diverging: Record<string, unknown>[] };

/** Runs develop to its end: `approved` threads go through the tester, the others are aborted by the planner. */
async function createHistory(): Promise<{ repository: CliRepository; approved: string[]; aborted: string[] }> {
  const repository = createCliRepository({ '.uwf/workflows/develop.yaml': develop });
  const { hash } = (await repository.json(['cas', 'put', '# The only phase'])) as { hash: string };
  const planned = `---\n$status: planned\nphases: [{ hash: "${hash}", title: All }]\n---\n`;
  const rest = {
    coder: [`---\n$status: done\ncompletedPhase: "${hash}"\n---\n`],
    reviewer: ['---\n$status: approved\n---\n'],
    tester: ['---\n$status: passed\n---\n'],
    committer: ['---\n$status: committed\ncommit: 3f2a91c\n---\n'],
  };
  const run = async (planner: string): Promise<string> => {
    repository.write('.uwf/config.yaml', scriptedConfig({ planner: [planner], ...rest }));
    const lines = await repository.lines(['run', 'develop', '-p', 'Do it']);
    return String(lines.at(-1)?.['thread']);
  };
  const approved = [await run(planned), await run(planned)];
  const aborted = [await run('---\n$status: aborted\nreason: a duplicate\n---\n')];
  return { repository, approved, aborted };
}

describe('uwf workflow simulate', () => {
  test('names exactly the threads that went through the tester when its rule is removed', async () => {
    const { repository, approved, aborted } = await createHistory();
    expect(develop).toContain(testerRule);
    const same = (await repository.json(['workflow', 'simulate', 'develop'])) as Result;
    expect(same).toMatchObject({ threads: 3, decisions: 14, diverging: [] });

    repository.write('changed.yaml', develop.replace(testerRule, ''));
    const changed = (await repository.json(['workflow', 'simulate', './changed.yaml'])) as Result;
    expect(changed.diverging.map(({ thread }) => thread)).toEqual(approved);
    expect(changed.diverging[0]).toMatchObject({ afterSteps: 3, was: 'tester', would: 'coder' });

    const one = (await repository.json([
      'workflow',
      'simulate',
      './changed.yaml',
      '--against',
      [approved[1], ...aborted].join(','),
    ])) as Result;
    expect(one).toMatchObject({ threads: 2, diverging: [{ thread: approved[1] }] });
    expect(await repository.json(['workflow', 'simulate', './changed.yaml', '--since', '2099-01-01'])).toMatchObject({
      threads: 0,
    });
  });

  test('tries the rules on no branch that runs a role alone, and goes through a block', async () => {
    const both = (status: string): string => `name: both
roles: { critic: { schema: { properties: { $status: { const: good } }, required: [$status] } } }
blocks:
  reviews: { isolation: shared, branches: { first: { role: critic }, second: { role: critic } }, join: all }
graph:
  $START: { new: { role: reviews } }
  reviews: [{ when: "$count($branches[status = '${status}']) = 2", role: $END }, { role: critic }]
  critic: { good: { role: $END } }
`;
    const repository = createCliRepository({ '.uwf/workflows/both.yaml': both('good') });
    repository.write('.uwf/config.yaml', scriptedConfig({ critic: ['---\n$status: good\n---\n'] }));
    await repository.lines(['run', 'both', '-p', 'Read it']);
    const same = (await repository.json(['workflow', 'simulate', 'both'])) as Result;
    expect(same).toMatchObject({ threads: 3, decisions: 2, diverging: [] });
    repository.write('changed.yaml', both('bad').replace('name: both', 'name: changed'));
    const against = (await repository.json(['thread', 'list', '--all', '--workflow', 'both'])) as { thread: string }[];
    const threads = against.map(({ thread }) => thread).join(',');
    const changed = (await repository.json(['workflow', 'simulate', './changed.yaml', '--against', threads])) as Result;
    expect(changed.diverging).toMatchObject([{ afterSteps: 1, was: '__end__', would: 'critic' }]);
  });
});
