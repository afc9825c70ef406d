import type { GitEnvironment } from '../git-directory.ts';
import type { RepositoryLocation } from '../repository.ts';

/** What names a repository, an index or a place in it: of the caller's, not of the one that is worked on. */
const leadingElsewhere = ['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_PREFIX', 'GIT_NAMESPACE'];

/**
 * The environment in which git works on a repository and on no other, and says what it says in English. It fetches nothing
 * that is missing, and no transport is allowed: whoever reads does not decide whom a repository's configuration reaches.
 *
 * Both are needed: a git before 2.39.4 does not know the first. No setting of the repository beats the second.
 * Source: git(1), `GIT_NO_LAZY_FETCH`, `GIT_ALLOW_PROTOCOL`.
 */
export function gitEnvironment(location: RepositoryLocation, env: GitEnvironment): GitEnvironment {
  const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !leadingElsewhere.includes(name)));
  return {
    ...inherited,
    GIT_DIR: location.gitDir,
    ...(location.workTree !== undefined && { GIT_WORK_TREE: location.workTree }),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    LC_ALL: 'C',
  };
}
