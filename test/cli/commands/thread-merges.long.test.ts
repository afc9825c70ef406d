import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTemporaryFolder, expectCleanFsck, temporaryRepositoryAt } from '../../helpers/temporary-repository.ts';
import { stateOf } from '../../thread/code/beside-git.ts';
import { createWork, type Standing } from './code-work.ts';
import { signByProgram, signBySsh } from './signers.ts';

/**
 * What `uwf thread merge` does without a terminal. In each line: how the thread stands and what it made, if not both commits;
 * the form of the merge; the state of the branch; the signer. Then: the exit code, the commits of the branch, the commits that
 * are listed as not signed, and the beginning of what is said.
 *
 * Commit A is the agent's, T is uwf's with the files that the agent left beside it, B is where the work began, O moves the
 * branch, M merges, X is another program's. `*` marks a signature that git verifies, `<` a conflict that is left with these
 * commits. `=` means that nothing has changed: no ref, index, file or object.
 */
const table = `
code 3      |                   | unmoved   |         || 2 | =             |          | uwf: thread … is failed: it ended with return code 3
failed      |                   | unmoved   |         || 2 | =             |          | uwf: thread … is failed: it ended with return code 1
cancelled   |                   | unmoved   |         || 2 | =             |          | uwf: thread … is cancelled: it ended with return code 130
suspended   |                   | unmoved   |         || 2 | =             |          | uwf: thread … is suspended: Which parser?
idle        |                   | unmoved   |         || 2 | =             |          | uwf: thread … is idle: it has not ended
running     |                   | unmoved   |         || 2 | =             |          | uwf: thread … is running: it has not ended
interrupted |                   | unmoved   |         || 2 | =             |          | uwf: thread … is interrupted: it has not ended
failed      | --squash          | unmoved   | ssh     || 2 | =             |          | uwf: thread … is failed: it ended with return code 1
suspended   | --rebase          | moved     |         || 2 | =             |          | uwf: thread … is suspended: Which parser?
running     | -b topic          | unmoved   | ssh     || 2 | =             |          | uwf: thread … is running: it has not ended
cancelled   |                   | moved     | fails   || 2 | =             |          | uwf: thread … is cancelled: it ended with return code 130
code 3      | --anyway          | unmoved   |         || 0 | T A B         |          | main has what thread … (failed, return code 3) did
failed      | --anyway --squash | unmoved   |         || 0 | T B           |          | main has what thread … (failed, return code 1) did
cancelled   | --anyway --rebase | unmoved   |         || 0 | T A B         |          | main has what thread … (cancelled, return code 130) did
suspended   | --anyway -b topic | unmoved   |         || 0 | T A B         |          | branch topic is at #: what thread … (suspended) did
idle        | --anyway          | unmoved   |         || 0 | T A B         |          | main has what thread … (idle) did
running     | --anyway          | unmoved   |         || 0 | T A B         |          | main has what thread … (running) did
interrupted | --anyway          | unmoved   |         || 0 | T A B         |          | main has what thread … (interrupted) did
failed      | --anyway          | moved     | ssh     || 0 | M* T* A O B   | A        | main has what thread … (failed, return code 1) did
suspended   | --anyway          | dirty     |         || 1 | =             |          | uwf: . has changes that are not committed: a.txt
ended       |                   | unmoved   |         || 0 | T A B         |          | main has what thread … (ended) did
ended       |                   | moved     |         || 0 | M T A O B     |          | main has what thread … (ended) did
ended       |                   | conflict  |         || 5 | O B < T A     |          | conflict: main and thread … (ended) both changed
ended       |                   | detached  |         || 0 | T A B         |          | HEAD has what thread … (ended) did
ended       |                   | linked    |         || 0 | T A B         |          | side has what thread … (ended) did
ended       | --squash          | unmoved   |         || 0 | T B           |          | main has what thread … (ended) did
ended       | --squash          | moved     |         || 0 | T O B         |          | main has what thread … (ended) did
ended       | --squash          | conflict  |         || 5 | =             |          | conflict: main and thread … (ended) both changed
ended       | --squash          | detached  |         || 0 | T B           |          | HEAD has what thread … (ended) did
ended       | --squash          | linked    |         || 0 | T B           |          | side has what thread … (ended) did
ended       | --rebase          | unmoved   |         || 0 | T A B         |          | main has what thread … (ended) did
ended       | --rebase          | moved     |         || 0 | T A O B       |          | main has what thread … (ended) did
ended       | --rebase          | conflict  |         || 5 | =             |          | conflict: main and thread … (ended) both changed
ended       | --rebase          | detached  |         || 0 | T A B         |          | HEAD has what thread … (ended) did
ended       | --rebase          | linked    |         || 0 | T A B         |          | side has what thread … (ended) did
ended       | -b topic          | unmoved   |         || 0 | T A B         |          | branch topic is at #: what thread … (ended) did
ended       | -b topic          | dirty     |         || 0 | T A B         |          | branch topic is at #: what thread … (ended) did
ended       |                   | unmoved   | ssh     || 0 | T* A B        | A        | main has what thread … (ended) did
ended       |                   | moved     | ssh     || 0 | M* T* A O B   | A        | main has what thread … (ended) did
ended       |                   | conflict  | ssh     || 5 | O B < T* A    | A        | conflict: main and thread … (ended) both changed
ended       |                   | detached  | ssh     || 0 | T* A B        | A        | HEAD has what thread … (ended) did
ended       |                   | linked    | ssh     || 0 | T* A B        | A        | side has what thread … (ended) did
ended       | --squash          | unmoved   | ssh     || 0 | T* B          |          | main has what thread … (ended) did
ended       | --squash          | moved     | ssh     || 0 | T* O B        |          | main has what thread … (ended) did
ended       | --squash          | conflict  | ssh     || 5 | =             |          | conflict: main and thread … (ended) both changed
ended       | --squash          | detached  | ssh     || 0 | T* B          |          | HEAD has what thread … (ended) did
ended       | --squash          | linked    | ssh     || 0 | T* B          |          | side has what thread … (ended) did
ended       | --rebase          | unmoved   | ssh     || 0 | T* A B        | A        | main has what thread … (ended) did
ended       | --rebase          | moved     | ssh     || 0 | T* A* O B     |          | main has what thread … (ended) did
ended       | --rebase          | conflict  | ssh     || 5 | =             |          | conflict: main and thread … (ended) both changed
ended       | --rebase          | detached  | ssh     || 0 | T* A B        | A        | HEAD has what thread … (ended) did
ended       | --rebase          | linked    | ssh     || 0 | T* A B        | A        | side has what thread … (ended) did
ended       | -b topic          | unmoved   | ssh     || 0 | T* A B        | A        | branch topic is at #: what thread … (ended) did
ended       | -b topic          | dirty     | ssh     || 0 | T* A B        | A        | branch topic is at #: what thread … (ended) did
ended       |                   | dirty     |         || 1 | =             |          | uwf: . has changes that are not committed: a.txt
ended       | --squash          | dirty     |         || 1 | =             |          | uwf: . has changes that are not committed: a.txt
ended       | --rebase          | dirty     |         || 1 | =             |          | uwf: . has changes that are not committed: a.txt
ended       |                   | staged    | ssh     || 1 | =             |          | uwf: . has changes that are not committed: a.txt
ended       | --rebase          | staged    |         || 1 | =             |          | uwf: . has changes that are not committed: a.txt
ended       |                   | untracked | ssh     || 1 | =             |          | uwf: files that git does not track would be overwritten: d.txt
ended       | --squash          | untracked | ssh     || 1 | =             |          | uwf: files that git does not track would be overwritten: d.txt
ended       |                   | merging   | ssh     || 1 | =             |          | uwf: a merge is not finished in .
ended       | --squash          | merging   |         || 1 | =             |          | uwf: a merge is not finished in .
ended       |                   | unmoved   | fails   || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended       | --squash          | unmoved   | fails   || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended       | --rebase          | unmoved   | fails   || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended       | -b topic          | unmoved   | fails   || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended       |                   | moved     | second  || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended       | --rebase          | moved     | second  || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended       |                   | conflict  | fails   || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended       |                   | linked    | missing || 1 | =             |          | uwf: git does not merge it
ended       | --squash          | detached  | missing || 1 | =             |          | uwf: git does not merge it
ended       | --rebase          | moved     | missing || 1 | =             |          | uwf: git does not merge it
ended       | -b topic          | dirty     | missing || 1 | =             |          | uwf: git does not merge it
ended       |                   | unmoved   | moves   || 5 | X B           |          | uwf: refs/heads/main is not
ended       | --squash          | moved     | moves   || 5 | X B           |          | uwf: refs/heads/main is not
ended       | -b topic          | moved     | makes   || 2 | O B           |          | uwf: there is a branch 'topic' already, at another commit
ended: A    |                   | unmoved   | ssh     || 0 | A B           | A        | main has what thread … (ended) did
ended: A    |                   | moved     | ssh     || 0 | M* A O B      | A        | main has what thread … (ended) did
ended: A    |                   | unmoved   | fails   || 0 | A B           | A        | main has what thread … (ended) did
ended: A    | --rebase          | moved     | fails   || 1 | =             |          | uwf: git does not merge it: error: gpg failed to sign the data
ended: A    | -b topic          | unmoved   | missing || 0 | A B           | A        | branch topic is at #: what thread … (ended) did
ended: T    |                   | unmoved   | ssh     || 0 | T* B          |          | main has what thread … (ended) did
ended: T    | --rebase          | moved     | ssh     || 0 | T* O B        |          | main has what thread … (ended) did
ended: A* T |                   | unmoved   | ssh     || 0 | T* A* B       |          | main has what thread … (ended) did
ended: A* T | --rebase          | unmoved   | ssh     || 0 | T* A* B       |          | main has what thread … (ended) did
`;

const letters: Readonly<Record<string, string>> = {
  base: 'B',
  ours: 'O',
  'by an agent': 'A',
  'Mend the parser.': 'T',
  'of another': 'X',
};

const rows = table
  .trim()
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map(([thread, form, target, signer, , ...expected]) => [thread, form, target, signer, expected] as const);

test.each(rows)(
  '%s, merge %s, %s, signer: %s',
  async (stands, form, target, signer, expected) => {
    const work = createWork();
    const { repository } = work;
    const [standing, made = 'A T'] = (stands ?? '').split(': ');
    if (made.includes('A*')) sign(work, signer ?? '');
    if (made.includes('A')) work.commit({ 'c.txt': 'c\n' });
    // The cells of this column are standings.
    const thread = await work.leave(made.includes('T') ? { 'd.txt': 'theirs\n' } : {}, standing as Standing);
    const dir = bring(work, target ?? '');
    if (!made.includes('A*')) sign(work, signer ?? '');
    const { git } = temporaryRepositoryAt(dir);
    const before = stateOf({ git });
    const words = (form ?? '').split(' ').filter(Boolean);
    const { code, all } = await repository.uwf(['-C', dir, 'thread', 'merge', thread, ...words]);
    const after = stateOf({ git });
    const isSame = JSON.stringify(after) === JSON.stringify(before);
    const log = (...range: string[]): string => {
      const lines = git('log', '--topo-order', '--format=%G?%s', ...range).split('\n');
      return lines.map((line) => (letters[line.slice(1)] ?? 'M') + (line.startsWith('G') ? '*' : '')).join(' ');
    };
    const isBranch = form?.includes('-b');
    if (isBranch) expect(after).toMatchObject({ head: before['head'], index: before['index'], files: before['files'] });
    const isConflict = git('status', '--porcelain').includes('AA d.txt');
    const conflict = isConflict ? ` < ${log('HEAD..MERGE_HEAD')}` : '';
    const branch = `${log(isBranch && code === 0 ? 'topic' : 'HEAD')}${conflict}`;
    const unsigned = [...all.matchAll(/^ {2}([0-9a-f]{10})$/gm)].map(([, id = '']) => log('-1', id));
    const said = all
      .replaceAll(thread, '…')
      .replaceAll(dir, '.')
      .replace(/[0-9a-f]{10}/, '#');
    if (!isSame) expectCleanFsck(dir);
    const [exit, there, left, says = ''] = expected;
    expect([String(code), isSame ? '=' : branch, unsigned.join(' ')]).toEqual([exit, there, left]);
    expect(said.slice(0, says.length)).toBe(says);
  },
  60_000,
);

/** Brings the branch and its work tree into a state. @returns the folder of the work tree */
function bring({ repository, base }: ReturnType<typeof createWork>, target: string): string {
  const { dir, git, write } = repository;
  const commit = (path: string): void => {
    write(path, 'ours\n');
    git('add', path);
    git('commit', '-qm', 'ours');
  };
  if (target === 'moved') commit('ours.txt');
  if (target === 'conflict') commit('d.txt');
  if (target === 'detached') git('checkout', '-q', '--detach');
  if (target === 'dirty' || target === 'staged') write('a.txt', 'mine\n');
  if (target === 'staged') git('add', 'a.txt');
  if (target === 'untracked') write('d.txt', 'mine\n');
  if (target === 'merging') git('update-ref', 'MERGE_HEAD', base);
  if (target !== 'linked') return dir;
  const other = join(createTemporaryFolder(), 'other');
  git('worktree', 'add', '-q', '-b', 'side', other);
  return other;
}

function sign({ repository, base }: ReturnType<typeof createWork>, signer: string): void {
  const { git } = repository;
  if (signer === 'ssh') signBySsh(repository);
  if (signer === 'fails') signByProgram(repository, 'exit 2');
  if (signer === 'second') signByProgram(repository, 'test $n -lt 2 || exit 2');
  if (signer === 'moves' || signer === 'makes') {
    const other = git('commit-tree', '-m', 'of another', '-p', base, `${base}^{tree}`);
    signByProgram(repository, `git update-ref refs/heads/${signer === 'moves' ? 'main' : 'topic'} ${other}`);
  }
  if (signer === 'missing') {
    signByProgram(repository);
    git('config', 'gpg.program', '/nonexistent/signer');
  }
}
