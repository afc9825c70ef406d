import { existsSync, renameSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configOf, createFixture, statuses, workflow } from '../engine-fixture.ts';
import { createTemporaryFolder, expectCleanFsck } from '../../helpers/temporary-repository.ts';

test.each(['none', 'worktree'] as const)(
  'a turn (isolation: %s) whose repository is moved away meanwhile says what it said, and makes no folder in its place',
  async (isolation) => {
    const script =
      'top="${UWF_REPOSITORY%/.git}"; mv "$top" "$top-moved"; printf -- \'---\\n$status: done\\n---\\nI did it.\\n\'';
    const agent = { package: 'builtin:command', config: { argv: ['sh', '-c', script] } };
    const options = { workTrees: createTemporaryFolder() };
    const { engine, dir, repository, git } = await createFixture(configOf({ coder: agent }), options);
    git('commit', '--quiet', '--allow-empty', '--message', 'code');
    const definition = workflow('code', { coder: statuses('done') }, 'coder > end');
    Object.assign(definition.roles['coder'] ?? {}, { isolation });
    const { thread } = await engine.start({ definition, prompt: 'Code it' });
    await expect(engine.run(thread)).rejects.toMatchObject({
      code: 'repository-not-found',
      message: expect.stringMatching(
        /is there no more; it could not be kept in .* this is what it said:[^]*I did it\./,
      ),
    });
    expect(existsSync(dir)).toBe(false);
    renameSync(`${dir}-moved`, dir);
    expect(await repository.refs.list('refs/threads/')).toHaveLength(1);
    expectCleanFsck(dir);
  },
);
