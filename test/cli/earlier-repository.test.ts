import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { cliRepositoryOf, type CliRepository } from '../helpers/cli.ts';
import { createTemporaryFolder, runGit, temporaryRepositoryAt } from '../helpers/temporary-repository.ts';

const bundle = fileURLToPath(new URL('../../fixtures/repositories/earlier.bundle', import.meta.url));

const suspended = '01M833KDT94Y8ERPV5KAPJJR4Y';
const ended = '01M833H3T33KZK61SR9GX70EN5';

const sentence = /was written by an early build, before format 1; this uwf reads format 1 alone$/;

describe('a repository with threads that were written before format 1', () => {
  let repository: CliRepository;

  beforeEach(() => {
    const dir = createTemporaryFolder();
    runGit(dir, ['clone', '--quiet', '--mirror', bundle, '.git']);
    runGit(dir, ['config', 'core.bare', 'false']);
    runGit(dir, ['remote', 'remove', 'origin']);
    runGit(dir, ['checkout', '--quiet', 'main']);
    repository = cliRepositoryOf(temporaryRepositoryAt(dir));
  });

  test('lists them as corrupt, and says why', async () => {
    const { code, stdout } = await repository.uwf(['thread', 'list', '--all', '--json']);
    // What the program prints is what this test looks at.
    const listed = JSON.parse(stdout) as { status: string; reason: string }[];
    expect(code).toBe(0);
    expect(listed.map(({ status }) => status)).toEqual(Array.from({ length: 7 }, () => 'corrupt'));
    for (const { reason } of listed) expect(reason).toMatch(sentence);
  });

  test.each([
    ['show', ['thread', 'show', ended]],
    ['log', ['log', ended]],
    ['read', ['thread', 'read', suspended]],
    ['step', ['thread', 'step', suspended]],
    ['resume', ['thread', 'resume', suspended, '-p', 'yes']],
    ['fork', ['thread', 'fork', suspended]],
    ['export', ['thread', 'export', suspended]],
  ])('refuses them in one sentence: %s', async (_, argv) => {
    const { code, stdout, stderr } = await repository.uwf(argv);
    const [error, hint, ...more] = stderr.trimEnd().split('\n');
    expect([code, stdout, more]).toEqual([1, '', []]);
    expect(error).toMatch(sentence);
    expect(hint).toBe("hint: read it with the build that wrote it, or remove it with 'uwf thread rm --force <thread>'");
  });

  test('removes them, and runs new ones', async () => {
    for (const thread of [suspended, ended]) {
      const removed = await repository.uwf(['thread', 'rm', '--force', thread]);
      expect(removed.code, removed.all).toBe(0);
    }
    expect(repository.git('for-each-ref', 'refs/threads', 'refs/history')).not.toContain(suspended);
    const anew = await repository.uwf(['run', 'notes', '-p', 'the hills']);
    expect(anew.code, anew.all).toBe(4);
  });

  test('gives none of them to another repository', async () => {
    const other = cliRepositoryOf(temporaryRepositoryAt(createTemporaryFolder()));
    other.git('init', '--quiet');
    other.git('remote', 'add', 'origin', repository.dir);
    const fetched = await other.uwf(['fetch']);
    expect(fetched.code, fetched.all).not.toBe(0);
    expect(fetched.all).toContain('before format 1');
    expect(other.git('for-each-ref', 'refs/threads', 'refs/history')).toBe('');
  });
});
