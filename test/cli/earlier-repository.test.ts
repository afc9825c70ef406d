import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { cliRepositoryOf, type CliRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, runGit, temporaryRepositoryAt } from '../helpers/temporary-repository.ts';

const folder = fileURLToPath(new URL('../../fixtures/repositories/', import.meta.url));

type Row = { role: string };

/** Thread -> the rows that the earlier version exported. */
// The file is the fixture's own.
const exported = JSON.parse(readFileSync(`${folder}earlier.json`, 'utf8')) as Record<string, Row[]>;

const suspended = '01M833KDT94Y8ERPV5KAPJJR4Y';
const idle = '01M833M0M9NDKMT2KEJXSPX80Z';
const registered = 'notes';

async function rowsOf(repository: CliRepository, thread: string): Promise<Row[]> {
  const { stdout } = await repository.uwf(['thread', 'export', thread]);
  // What the program prints is what this test looks at. Persons were not exported then.
  return stdout
    .trimEnd()
    .split('\n')
    .map((line) => ({ ...(JSON.parse(line) as Row), by: undefined }));
}

describe('a repository that an earlier version wrote', () => {
  let repository: CliRepository;

  beforeEach(() => {
    const dir = createTemporaryFolder();
    runGit(dir, ['clone', '--quiet', '--mirror', `${folder}earlier.bundle`, '.git']);
    runGit(dir, ['config', 'core.bare', 'false']);
    runGit(dir, ['remote', 'remove', 'origin']);
    runGit(dir, ['checkout', '--quiet', 'main']);
    repository = cliRepositoryOf(temporaryRepositoryAt(dir));
  });

  test('is sound, and each thread has the steps that it had', async () => {
    expect(await repository.uwf(['fsck'])).toMatchObject({ code: 0, stdout: 'nothing is wrong: 8 refs verified\n' });
    for (const [thread, rows] of Object.entries(exported)) {
      const lines = await rowsOf(repository, thread);
      // Suspensions and answers were not exported then.
      const isNew = ({ role }: Row): boolean => role === '__suspend__' || role === '__resume__';
      expect(lines.filter((row) => !isNew(row))).toEqual(rows);
    }
    expect(Object.keys(exported)).toHaveLength(7);
  });

  test('runs on where it stood', async () => {
    const answered = await repository.uwf(['thread', 'resume', suspended, '-p', 'yes']);
    expect(answered.code, answered.all).toBe(0);
    const run = await repository.uwf(['thread', 'run', idle]);
    expect(run.code, run.all).toBe(0);
    const anew = await repository.uwf(['run', registered, '-p', 'the hills']);
    expect(anew.code, anew.all).toBe(4);
    const fsck = await repository.uwf(['fsck']);
    expect(fsck.code, fsck.all).toBe(0);
    const before = exported[idle] ?? [];
    expect((await rowsOf(repository, idle)).slice(0, before.length)).toEqual(before);
  });

  test('is taken up by another repository', async () => {
    const other = cliRepositoryOf(temporaryRepositoryAt(createTemporaryFolder()));
    other.git('init', '--quiet');
    other.git('remote', 'add', 'origin', repository.dir);
    const fetched = await other.uwf(['fetch']);
    expect(fetched.code, fetched.all).toBe(0);
    const refsOf = ({ git }: CliRepository): string =>
      git('for-each-ref', 'refs/threads', 'refs/history', 'refs/workflows');
    expect(refsOf(other)).toBe(refsOf(repository));
  });
});
