import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { cliRepositoryOf, type CliRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, runGit, temporaryRepositoryAt } from '../helpers/temporary-repository.ts';

type Row = { thread: string; status: string; workflow: string; steps: number; head: string; prompt: string };

const bundle = join(import.meta.dirname, '../../fixtures/repositories/format-1.bundle');
const golden = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../fixtures/golden/format-1.json'), 'utf8'),
) as Row[];

/** The threads that were stored when format 1 was frozen. */
function openGolden(): CliRepository {
  const dir = createTemporaryFolder();
  runGit(dir, ['clone', '--quiet', '--mirror', bundle, '.git']);
  runGit(dir, ['config', 'core.bare', 'false']);
  runGit(dir, ['remote', 'remove', 'origin']);
  runGit(dir, ['checkout', '--quiet', '--force', 'main']);
  writeFileSync(join(dir, '.git/counts'), '');
  return cliRepositoryOf(temporaryRepositoryAt(dir));
}

describe('the threads of the day on which format 1 was frozen', () => {
  let repository: CliRepository;
  const listed = async (...more: string[]): Promise<Row[]> => {
    const { code, stdout, all } = await repository.uwf(['thread', 'list', ...more, '--json']);
    expect(code, all).toBe(0);
    // What the program prints is what this test looks at.
    return JSON.parse(stdout) as Row[];
  };
  const succeed = async (...argv: string[]): Promise<string> => {
    const { code, stdout, all } = await repository.uwf(argv);
    expect(code, all).toBe(0);
    return stdout;
  };

  beforeAll(() => {
    repository = openGolden();
  });

  test('are all here, and what they were', async () => {
    const rows = [...(await listed('--all')), ...(await listed('--archived'))];
    expect(rows.toSorted((a, b) => (a.thread < b.thread ? -1 : 1))).toMatchObject(golden);
    expect(rows).toHaveLength(golden.length);
  });

  test('are verified', async () => {
    expect(await succeed('fsck')).toContain('23 refs verified');
  });

  test.each(golden.map(({ thread, workflow, prompt }): [string, string, string] => [thread, workflow, prompt]))(
    '%s, %s (%s), is written again byte by byte from its nodes',
    async (thread) => {
      const exported = await succeed('thread', 'export', thread, '--with-nodes');
      const file = join(createTemporaryFolder(), 'thread.jsonl');
      writeFileSync(file, exported);
      // It builds each commit, and compares its id.
      const imported = await succeed('thread', 'import', file, '--json');
      const { thread: copy } = JSON.parse(imported) as { thread: string };
      expect(await succeed('thread', 'export', copy, '--with-nodes')).toBe(exported);
    },
  );

  test('go on', async () => {
    const [idle, ...asked] = golden.filter(({ status }) => status === 'idle' || status === 'suspended');
    expect(asked).toHaveLength(2);
    await succeed('thread', 'run', idle!.thread);
    for (const { thread } of asked) await succeed('thread', 'resume', thread, '-p', 'Green.');
    expect(await listed()).toEqual([]);
    await succeed('run', 'loop', '-p', 'Another line.');
    await succeed('fsck');
  });
});
