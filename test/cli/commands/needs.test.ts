import { expect, test } from 'vitest';
import {
  cloneCliRepository,
  createCliRepository,
  loopReplies,
  loopWorkflow,
  scriptedConfig,
} from '../../helpers/cli.ts';
import { createTemporaryRepository, expectCleanFsck } from '../../helpers/temporary-repository.ts';

const needy = loopWorkflow.replace('description: writes\n', 'description: writes\n    needs: [gpu, docker]\n');
const files = { '.uwf/workflows/loop.yaml': needy, '.uwf/config.yaml': scriptedConfig(loopReplies) };

test('show, graph and validate take the needs of roles', async () => {
  const { uwf, json, write } = createCliRepository(files);
  expect((await uwf(['workflow', 'validate', 'loop'])).stdout).toBe('loop is valid: 2 roles, 4 rules\n');
  expect((await uwf(['workflow', 'show', 'loop'])).stdout).toContain(
    '  writer   writes  needs docker, gpu\n  checker  checks\n',
  );
  expect((await uwf(['workflow', 'graph', 'loop'])).stdout).toContain('writer   writes   needs docker, gpu\n');
  expect(await json(['workflow', 'show', 'loop'])).toMatchObject({ roles: { writer: { needs: ['docker', 'gpu'] } } });
  write('.uwf/workflows/loop.yaml', needy.replace('gpu', 'GPU'));
  const { code, stdout } = await uwf(['workflow', 'validate', 'loop']);
  expect(code).toBe(1);
  expect(stdout).toContain("loop.yaml:6:13: error: 'GPU' cannot be a label in 'needs' of role 'writer' [bad-label]");
});

test('a command runs a role with needs without asking, also of a thread that was fetched', async () => {
  const server = createTemporaryRepository({ bare: true });
  const home = createCliRepository(files);
  home.git('remote', 'add', 'origin', server.dir);
  expect((await home.uwf(['run', 'loop', '-p', 'the task'])).code).toBe(0);
  const thread = await home.start('loop', 'more');
  const { hash } = (await home.json(['workflow', 'add', 'loop'])) as { hash: string };
  expect((await home.uwf(['push', '--all'])).code).toBe(0);

  const clone = cloneCliRepository(server.dir, { '.uwf/config.yaml': scriptedConfig(loopReplies) });
  const fetched = await clone.json(['fetch']);
  expect(fetched).toMatchObject({ threads: [{}, {}], workflows: [{}], refused: [] });
  expect(await clone.json(['workflow', 'show', 'loop'])).toMatchObject({
    hash,
    roles: { writer: { needs: ['docker', 'gpu'] } },
  });
  expect((await clone.uwf(['thread', 'step', thread])).code).toBe(0);
  expect((await clone.uwf(['thread', 'run', thread])).code).toBe(0);
  expect((await clone.uwf(['thread', 'verify', thread])).code).toBe(0);
  expectCleanFsck(clone.dir);
});
