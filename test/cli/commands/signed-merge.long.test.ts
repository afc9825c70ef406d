import { cpSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTemporaryFolder, expectCleanFsck } from '../../helpers/temporary-repository.ts';
import { stateOf } from '../../thread/code/beside-git.ts';
import { createWork, type Work } from './code-work.ts';
import { signByProgram, signBySsh } from './signers.ts';

type Report = { outcome: string; tip: string; after: string; unsigned: string[] };

/** A thread with a commit of its agent and files beside it. */
async function twoCommits(): Promise<Work & { thread: string; byAgent: string }> {
  const work = createWork();
  const byAgent = work.commit({ 'c.txt': 'c\n' });
  return { ...work, byAgent, thread: await work.leave({ 'd.txt': 'd\n' }) };
}

/** Moves the branch on by a commit that touches no file of the thread's. */
function moveOn({ repository }: Work): string {
  repository.write('ours.txt', 'ours\n');
  repository.git('add', 'ours.txt');
  repository.git('commit', '-qm', 'ours', '--no-gpg-sign');
  return repository.git('rev-parse', 'HEAD');
}

describe('where commit.gpgSign is set', () => {
  test.each([
    ['a fast-forward', [], false],
    ['a merge commit', [], true],
    ['--squash', ['--squash'], false],
    ['--rebase of a branch that has not moved', ['--rebase'], false],
    ['--rebase of one that has', ['--rebase'], true],
    ['--branch', ['--branch', 'topic'], false],
  ] as const)(
    '%s signs what uwf commits, and names what agents committed without a signature',
    async (_, mode, moved) => {
      const work = await twoCommits();
      const { repository, base, byAgent, thread } = work;
      const before = moved ? moveOn(work) : base;
      signBySsh(repository);
      const merge = ['thread', 'merge', thread, ...mode];
      const { after, unsigned } = (await repository.json(merge)) as Report;
      const made = repository.git('rev-list', after, '--not', before).split('\n');
      const isKept = made.includes(byAgent);
      expect(unsigned).toEqual(isKept ? [byAgent] : []);
      // A rebase that finds the branch moved makes the agent's commit anew.
      expect(isKept).toBe(mode[0] !== '--squash' && !(mode[0] === '--rebase' && moved));
      for (const commit of made) if (commit !== byAgent) repository.git('verify-commit', commit);
      expect(made.length).toBe(mode[0] === '--squash' ? 1 : moved && mode.length === 0 ? 3 : 2);
      if (mode[0] !== '--squash' && isKept) {
        expect(await repository.json(merge)).toMatchObject({ outcome: 'up-to-date', after, unsigned: [] });
      }
      expectCleanFsck(repository.dir);
    },
  );

  test.each([
    [[], false],
    [[], true],
    [['--squash'], false],
    [['--rebase'], false],
    [['--rebase'], true],
    [['--branch', 'topic'], false],
  ])('a signer that fails or is missing changes nothing (%j, moved: %j)', async (mode, moved) => {
    const work = await twoCommits();
    const { repository, thread } = work;
    if (moved) moveOn(work);
    const expectRefusal = async (words: string): Promise<void> => {
      const before = stateOf(repository);
      const { code, stderr } = await repository.uwf(['thread', 'merge', thread, ...mode]);
      expect(stderr).toContain(words);
      expect(stderr).toContain('nothing was changed');
      expect(code).toBe(1);
      expect(stateOf(repository)).toEqual(before);
    };
    signByProgram(repository, 'exit 2');
    await expectRefusal('failed to sign the data');
    // A merge of a branch that moved makes two commits, and so does such a rebase.
    const runs = signByProgram(repository, 'test $n -lt 2 || exit 2');
    if (moved) {
      await expectRefusal('failed to sign the data');
      expect(runs()).toBe(2);
    }
    repository.git('config', 'gpg.program', '/nonexistent/signer');
    await expectRefusal('/nonexistent/signer');
    repository.git('config', 'gpg.format', 'ssh');
    repository.git('config', 'user.signingKey', join(repository.dir, 'no-key.pub'));
    await expectRefusal('no-key.pub');
    repository.git('config', 'commit.gpgSign', 'perhaps');
    await expectRefusal('perhaps');
  });

  test('a branch that moves while the signer is at work stays where it moved to', async () => {
    const { repository, thread } = await twoCommits();
    const moved = repository.git('commit-tree', '-m', 'of another', '-p', 'main', 'main^{tree}');
    signByProgram(repository, `git update-ref refs/heads/main ${moved}`);
    expect(await repository.uwf(['thread', 'merge', thread])).toMatchObject({ code: 5 });
    expect(repository.git('rev-parse', 'main')).toBe(moved);
    expect(repository.git('status', '--porcelain')).toBe('');
  });

  test('a conflict leaves a signed commit to be merged, and one that a driver resolves is committed only signed', async () => {
    const work = createWork({ '.gitattributes': 'a.txt merge=own\n' });
    const { repository } = work;
    const thread = await work.leave({ 'a.txt': 'theirs\n' });
    repository.write('a.txt', 'ours\n');
    repository.git('commit', '-qam', 'ours');
    // In the first merge, which is tried apart, there is a conflict, in the second none.
    const second = join(createTemporaryFolder(), 'second');
    repository.git('config', 'merge.own.driver', `test -e '${second}' && cp %B %A || { touch '${second}'; exit 1; }`);
    signByProgram(repository, 'test $n -lt 2 || exit 2');
    const before = stateOf(repository);
    const refused = await repository.uwf(['thread', 'merge', thread]);
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toContain('failed to sign the data');
    const { refs, index, status, files } = stateOf(repository);
    expect(before).toMatchObject({ refs, index, status, files });
    expect(existsSync(join(repository.dir, '.git/MERGE_HEAD'))).toBe(false);
    repository.git('config', '--unset', 'merge.own.driver');
    signBySsh(repository);
    repository.git('config', '--unset', 'gpg.program');
    const { tip } = JSON.parse((await repository.uwf(['thread', 'merge', thread, '--json'])).stdout) as Report;
    expect(repository.git('rev-parse', 'MERGE_HEAD')).toBe(tip);
    repository.git('verify-commit', tip);
  });

  test('the signer and the key are those that git commit finds: of the branch, and from the top of the work tree', async () => {
    const work = await twoCommits();
    const { repository, thread } = work;
    moveOn(work);
    const runs = signByProgram(repository);
    cpSync(repository.git('config', 'gpg.program'), join(repository.dir, 'tools/signer'), { recursive: true });
    writeFileSync(join(repository.dir, '.git/signing'), '[commit]\n\tgpgSign\n[gpg]\n\tprogram = tools/signer\n');
    repository.git('config', '--remove-section', 'commit');
    repository.git('config', '--remove-section', 'gpg');
    repository.git('config', 'includeIf.onbranch:main.path', 'signing');
    await repository.json(['thread', 'merge', thread]);
    expect(runs()).toBe(2);
  });
});

test('a signer that the repository configures needs consent, for a branch too', async () => {
  const { repository, thread } = await twoCommits();
  const runs = signByProgram(repository);
  const untrusted = { env: { UWF_TRUST: undefined, XDG_STATE_HOME: createTemporaryFolder() } };
  for (const mode of [[], ['--branch', 'topic']])
    expect(await repository.uwf(['thread', 'merge', thread, ...mode], untrusted)).toMatchObject({ code: 6 });
  expect(runs()).toBe(0);
});

test('a merge that need not be signed lists nothing as not signed', async () => {
  const { repository, thread } = await twoCommits();
  expect(await repository.json(['thread', 'merge', thread])).toMatchObject({ outcome: 'merged', unsigned: [] });
});
