import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runGit } from '../process/run-git.ts';
import type { GitPlace } from '../process/spawn-git.ts';
import { discoverRepository } from '../repository/discover.ts';
import { withoutPlaces } from '../repository/git-directory.ts';
import { gitlinksIn } from './gitlinks.ts';

/**
 * Tells whether a submodule of a linked work tree has commits that no remote of it has. git keeps the repository of such a
 * submodule in the git folder of the work tree, so they go when the work tree is removed.
 *
 * @param readBase reads the commit that the work tree began with. The commits of its submodules do not count: a remote need not
 *   have them on a branch
 */
export async function hasOwnSubmoduleCommits(
  git: GitPlace,
  readBase: () => Promise<string | undefined>,
): Promise<boolean> {
  const { workTree = '' } = git.location;
  const env = withoutPlaces(git.env);
  const listed = await submodulesIn(git, ['ls-files', '-z', '--stage']);
  const paths = [...listed.keys()].filter((path) => existsSync(join(workTree, path, '.git')));
  if (paths.length === 0) return false;
  const base = await readBase();
  const begunWith = base === undefined ? new Map<string, string>() : await submodulesIn(git, ['ls-tree', '-rz', base]);
  for (const path of paths) {
    const known = begunWith.get(path) ?? [];
    const args = ['rev-list', '--max-count=1', '--ignore-missing', 'HEAD', '--branches', '--not', '--remotes'];
    try {
      const location = await discoverRepository(join(workTree, path), env);
      if ((await runGit({ location, env, args: args.concat(known) })).length > 0) return true;
    } catch {
      // It has no commit, or is damaged, so what it has cannot be known.
      return true;
    }
  }
  return false;
}

/** The commits of the submodules that git lists, by their paths. */
async function submodulesIn(git: GitPlace, args: readonly string[]): Promise<Map<string, string>> {
  const gitlinks = gitlinksIn(await runGit({ ...git, args }));
  return new Map(gitlinks.map(({ path, commit }) => [Buffer.from(path, 'latin1').toString(), commit]));
}
