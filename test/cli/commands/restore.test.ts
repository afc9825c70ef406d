import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createCliRepository, type CliRepository, twoWorkflow } from '../../helpers/cli.ts';
import { expectCleanFsck } from '../../helpers/temporary-repository.ts';

const files = {
  '.uwf/config.yaml': `agents:
  work: { package: "builtin:command", config: { argv: [sh, work.sh] } }
defaultAgent: work
snapshot: { mode: on }
`,
  'work.sh': `echo $UWF_ROLE >> log.txt; echo '#!/bin/sh' > run.sh; chmod +x run.sh; printf '%s\\n' --- 'ok: true' --- done`,
  '.uwf/workflows/two.yaml': twoWorkflow,
};

async function runTwo(): Promise<{ repository: CliRepository; thread: string }> {
  const repository = createCliRepository(files);
  repository.git('add', '-A');
  repository.git('commit', '-qm', 'code');
  const result = await repository.uwf(['run', 'two', '-p', 'go', '--json']);
  expect(result.all).toContain('thread.ended');
  const [thread] = (await repository.json(['thread', 'list', '--all'])) as { thread: string }[];
  return { repository, thread: thread?.thread ?? '' };
}

describe('the files that a step left', () => {
  test('configure nothing: who does a role is said in the main work tree', async () => {
    const { repository, thread } = await runTwo();
    const folder = join(repository.dir, '..', `${thread}-left`);
    const fork = (await repository.json(['thread', 'fork', thread, '--at', '1', '-w', folder])) as { thread: string };
    writeFileSync(join(folder, '.uwf/config.yaml'), files['.uwf/config.yaml'].replace('work.sh', 'left.sh'));
    writeFileSync(join(folder, 'left.sh'), 'touch left-ran');
    expect(await repository.uwf(['-C', folder, 'thread', 'run', fork.thread])).toMatchObject({ code: 0 });
    expect(existsSync(join(folder, 'left-ran'))).toBe(false);
    const agents = await repository.json(['agent', 'list'], { cwd: folder });
    expect(agents).toEqual(await repository.json(['agent', 'list']));

    // One that a person made is theirs.
    const own = join(repository.dir, '..', `${thread}-own`);
    repository.git('worktree', 'add', '-q', '--detach', own);
    writeFileSync(join(own, '.uwf/config.yaml'), 'agents: { me: { package: "builtin:human" } }');
    expect(await repository.json(['agent', 'list'], { cwd: own })).toMatchObject([{ name: 'me' }]);
    for (const made of [folder, own]) repository.git('worktree', 'remove', '--force', made);
  });

  test('come back in a linked work tree of their own, to look at or to fork from', async () => {
    const { repository, thread } = await runTwo();
    const { dir } = repository;
    const before = [readFileSync(join(dir, '.git/index')), repository.git('status', '--porcelain')];
    const at1 = join(dir, '..', `${thread}-1`);
    const restored = await repository.json(['step', 'restore', '1', '-t', thread, '--worktree', at1]);
    expect(restored).toMatchObject({ folder: at1, isWhole: true, submodules: [] });
    expect(readFileSync(join(at1, 'log.txt'), 'utf8')).toBe('first\n');
    expect(statSync(join(at1, 'run.sh')).mode & 0o111).not.toBe(0);

    const fork = (await repository.json(['thread', 'fork', thread, '--at', '1', '--worktree', `${at1}-fork`])) as {
      thread: string;
      forkedFrom: string;
    };
    expect(fork.forkedFrom).toBe(thread);
    const run = await repository.uwf(['-C', `${at1}-fork`, 'thread', 'run', fork.thread]);
    expect(run.code).toBe(0);
    expect(readFileSync(join(`${at1}-fork`, 'log.txt'), 'utf8')).toBe('first\nsecond\n');
    expect([readFileSync(join(dir, '.git/index')), repository.git('status', '--porcelain')]).toEqual(before);
    expectCleanFsck(dir);
    expect(await repository.uwf(['thread', 'verify', thread])).toMatchObject({ code: 0 });
    for (const folder of [at1, `${at1}-fork`]) repository.git('worktree', 'remove', '--force', folder);
  });

  test('that were not recorded are refused with the reason, and a fork is then not made', async () => {
    const { repository, thread } = await runTwo();
    writeFileSync(join(repository.dir, '.uwf/config.yaml'), files['.uwf/config.yaml'].replace('mode: on', 'mode: off'));
    const fork = (await repository.json(['thread', 'fork', thread, '--at', '1'])) as { thread: string };
    await repository.uwf(['thread', 'step', fork.thread]);
    const count = repository.git('for-each-ref', 'refs/threads', 'refs/history');
    const folder = join(repository.dir, 'new');
    const refused = await repository.uwf(['thread', 'fork', fork.thread, '--at', '2', '--worktree', folder]);
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/step 2 .* did not record the files it left[^]*that of step 1/);
    expect(repository.git('for-each-ref', 'refs/threads', 'refs/history')).toBe(count);
    expect(existsSync(folder)).toBe(false);
  });

  test('are not put where something is', async () => {
    const { repository, thread } = await runTwo();
    const refused = await repository.uwf(['step', 'restore', '1', '-t', thread, '--worktree', '.']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('not empty') });
  });
});
