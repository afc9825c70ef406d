import { expect, test } from 'vitest';
import { runGit } from '../../helpers/temporary-repository.ts';
import { createWork, type Work } from './code-work.ts';

async function expectKept({ repository }: Work, thread: string): Promise<void> {
  const { code, stderr } = await repository.uwf(['thread', 'rm', thread, '--json']);
  expect({ code, error: JSON.parse(stderr) as unknown }).toMatchObject({
    code: 1,
    error: { error: { code: 'not-merged' } },
  });
  expect(repository.git('for-each-ref', '--format=%(refname)', 'refs/history')).toContain(thread);
}

async function expectGone({ repository }: Work, ...argv: string[]): Promise<unknown> {
  const removed = await repository.json(['thread', 'rm', ...argv]);
  expect(repository.git('for-each-ref', 'refs/history', 'refs/threads')).toBe('');
  return removed;
}

test('work that is merged nowhere is removed with --force only, which says what goes', async () => {
  const work = createWork();
  work.commit({ 'a.txt': 'one\nTWO\nthree\n' });
  const thread = await work.leave({ 'src/new.txt': 'new\n' });
  await expectKept(work, thread);
  const { repository } = work;
  expect((await repository.uwf(['thread', 'rm', thread])).stderr).toContain('merged nowhere: 2 commits, 2 files');
  const { unmerged } = (await expectGone(work, thread, '--force')) as { unmerged: { commit: string } };
  expect(unmerged).toMatchObject({ commits: 2, files: 2 });
  // It says from what git can bring the work back.
  repository.git('branch', 'rescued', unmerged.commit);
  expect(repository.git('ls-tree', '-r', '--name-only', 'rescued')).toContain('new.txt');
});

test.each([[[]], [['--squash']], [['--rebase']], [['--branch', 'topic']]])(
  'work that was merged with %j is removed',
  async (how) => {
    const work = createWork();
    const { repository } = work;
    work.commit({ 'a.txt': 'one\nTWO\nthree\n' });
    const thread = await work.leave({ 'src/new.txt': 'new\n' });
    repository.write('c.txt', 'c\n');
    repository.git('add', '--all');
    repository.git('commit', '-qm', 'moved');
    await repository.json(['thread', 'merge', thread, ...how]);
    expect(await expectGone(work, thread)).toMatchObject({ unmerged: null });
  },
);

test('work that a host merged in its own way is removed, even if it was changed since', async () => {
  const work = createWork();
  const { repository, there } = work;
  const tip = work.commit({ 'a.txt': 'one\nTWO\nthree\n' });
  const thread = await work.leave();
  const patch = runGit(there, ['format-patch', '--stdout', '-1', tip]);
  repository.write('c.txt', 'c\n');
  repository.git('add', '--all');
  repository.git('commit', '-qm', 'moved');
  runGit(repository.dir, ['am', '-q'], `${patch}\n`);
  repository.write('a.txt', 'one\n2\nthree\n');
  repository.git('commit', '-qam', 'changed since');
  expect(await expectGone(work, thread)).toMatchObject({ unmerged: null });
});

test('of all that have ended, threads with work that is merged nowhere stay, and are named', async () => {
  const work = createWork();
  const { repository } = work;
  const [same, other] = [await work.leave(), await work.leave({ 'src/new.txt': 'new\n' })];
  const { code, stdout, stderr } = await repository.uwf(['thread', 'rm', '--ended', '--before', '2100-01-01']);
  expect(code).toBe(1);
  expect(stdout).toContain(`removed thread ${same}`);
  expect(stderr).toContain(`the work of thread ${other} is merged nowhere`);
  await expectKept(work, other);
});
