import { UwfError } from '../../errors.ts';
import { isRefName } from '../../git/format/ref-name.ts';
import { RefMoved } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { publish } from '../../git/stores/publish.ts';
import { readSigning } from '../../git/worktree/sign-commit.ts';
import { findMerged, listCodeCommits, listUnsigned, signedCode } from './code-commits.ts';
import { assertNoSecrets } from './code-secrets.ts';
import type { MergeOptions, MergeReport } from './merge-thread.ts';
import type { ThreadCode } from './thread-code.ts';

/**
 * Makes a branch of a thread's code, and checks nothing out.
 *
 * @param branch as it is typed: `topic`
 * @throws {CodeHoldsSecrets} if its commits have secrets
 * @throws {UwfError} `invalid-branch` if git refuses the name, `branch-exists` if there is another one of this name, and as
 *   `signCommit`
 */
export async function branchThread(
  repository: Repository,
  code: ThreadCode,
  branch: string,
  { env, redactor }: Omit<MergeOptions, 'mode'>,
): Promise<MergeReport> {
  const { location, objects, refs } = repository;
  if (location === undefined) throw new TypeError('a repository that is not on a disk has no code');
  const name = `refs/heads/${branch}`;
  // As git: a name that looks like an option or like HEAD could not be typed again.
  if (!isRefName(name) || branch.startsWith('-') || branch === 'HEAD') throw invalidBranch(branch);
  const git = { location, env };
  const commits = await listCodeCommits(repository, git, code, undefined);
  if (redactor !== undefined) await assertNoSecrets(repository, code, commits, redactor);
  const { thread, base } = code;
  const report = { thread, mode: 'branch' as const, branch, base, files: [] };
  const there = await refs.read(name);
  if (there !== undefined) {
    const isSame = there === code.tip || (await findMerged(repository, git, code, there)) === there;
    if (!isSame) throw branchExists(branch);
    return { ...report, outcome: 'up-to-date', tip: there, before: there, after: there, unsigned: [] };
  }
  const signing = await readSigning(git);
  const { tip, own } = signing ? await signedCode(repository, git, code) : code;
  const change = { format: objects.format, objects: own };
  await publish(repository, change, [{ name, expected: null, value: tip }]).catch((error: unknown) => {
    throw error instanceof RefMoved ? branchExists(branch, error) : error;
  });
  const unsigned = signing ? await listUnsigned(git, tip, [base]) : [];
  return { ...report, outcome: 'created', tip, before: null, after: tip, unsigned };
}

function branchExists(branch: string, cause?: RefMoved): UwfError {
  return new UwfError(`there is a branch '${branch}' already, at another commit`, {
    code: 'branch-exists',
    kind: 'usage',
    hint: 'give another name',
    cause,
  });
}

function invalidBranch(branch: string): UwfError {
  return new UwfError(`'${branch}' cannot be the name of a branch`, {
    code: 'invalid-branch',
    kind: 'usage',
    hint: 'give a name that git takes: letters, digits, dashes and slashes',
  });
}
