import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import { isRefName } from '../../git/format/ref-name.ts';
import { RefMoved } from '../../git/ref-store.ts';
import type { Repository } from '../../git/repository.ts';
import { publish } from '../../git/stores/publish.ts';
import { listCodeCommits } from './code-commits.ts';
import { assertNoSecrets } from './code-secrets.ts';
import type { MergeOptions, MergeReport } from './merge-thread.ts';
import type { ThreadCode } from './thread-code.ts';

/**
 * Makes a branch of a thread's code, and checks nothing out.
 *
 * @param branch as it is typed: `topic`
 * @throws {CodeHoldsSecrets} if its commits have secrets
 * @throws {UwfError} `invalid-branch` if git refuses the name, `branch-exists` if there is another one of this name
 */
export async function branchThread(
  repository: Repository,
  code: ThreadCode,
  branch: string,
  { env, redactor }: Omit<MergeOptions, 'mode'>,
): Promise<MergeReport> {
  const { location, objects } = repository;
  if (location === undefined) throw new TypeError('a repository that is not on a disk has no code');
  const name = `refs/heads/${branch}`;
  // As git: a name that looks like an option or like HEAD could not be typed again.
  if (!isRefName(name) || branch.startsWith('-') || branch === 'HEAD') throw invalidBranch(branch);
  const commits = await listCodeCommits(repository, { location, env }, code, undefined);
  if (redactor !== undefined) await assertNoSecrets(repository, code, commits, redactor);
  const { thread, base, tip, own } = code;
  const report = (before: ObjectId | null): MergeReport => {
    const outcome = before === null ? 'created' : 'up-to-date';
    return { thread, mode: 'branch', outcome, branch, base, tip, before, after: tip, files: [] };
  };
  try {
    const change = { format: objects.format, objects: own };
    await publish(repository, change, [{ name, expected: null, value: tip }]);
    return report(null);
  } catch (error) {
    if (!(error instanceof RefMoved)) throw error;
    if (error.actual === tip) return report(tip);
    throw new UwfError(`there is a branch '${branch}' already, at another commit`, {
      code: 'branch-exists',
      kind: 'usage',
      hint: 'give another name',
      cause: error,
    });
  }
}

function invalidBranch(branch: string): UwfError {
  return new UwfError(`'${branch}' cannot be the name of a branch`, {
    code: 'invalid-branch',
    kind: 'usage',
    hint: 'give a name that git takes: letters, digits, dashes and slashes',
  });
}
