import type { GitPlace } from './spawn-git.ts';
import { isObjectId, type ObjectId } from '../format/object-id.ts';
import { runGit } from './run-git.ts';

/** A commit and the first line of its message. */
export type CommitLine = { commit: ObjectId; subject: string };

/**
 * Lists the commits that are reachable from `from` and not from `without`, newest first.
 *
 * @param without commits of this repository
 * @param most how many at most
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-rev-list(1).
 */
export async function listCommits(
  git: GitPlace,
  { from, without, most }: { from: readonly ObjectId[]; without: readonly ObjectId[]; most: number },
): Promise<CommitLine[]> {
  const input = [...from, ...without.map((id) => `^${id}`)].map((line) => `${line}\n`).join('');
  const args = ['rev-list', '--stdin', `--max-count=${most}`, '--format=>%s'];
  const lines = (await runGit({ ...git, args, input })).toString('utf8').split('\n');
  // A line 'commit <id>', then the format's. It begins with '>', because git leaves out a line that would be empty.
  return lines.flatMap((line, at) => {
    const id = line.replace(/^commit /, '');
    return at % 2 === 0 && isObjectId(id) ? [{ commit: id, subject: lines[at + 1]?.slice(1) ?? '' }] : [];
  });
}
