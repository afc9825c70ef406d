import type { GitEnvironment, Identity, RepositoryLocation } from '../repository.ts';

/** The committer if git knows no user. */
export const FALLBACK_COMMITTER: Identity = { name: 'uwf', email: 'uwf@localhost' };

/**
 * Finds the committer of git for a repository, with at most one process.
 *
 * `GIT_COMMITTER_NAME` and `_EMAIL` win, then `committer.*`, then `user.*`, then `EMAIL`. If only one of the two is set, the
 * other is that of {@link FALLBACK_COMMITTER}; `undefined` if neither is set or there is no git.
 * @param env the environment git runs with (`PATH`, `HOME`, `GIT_CONFIG_…`)
 * Source: git-commit(1), "COMMIT INFORMATION"; git-var(1).
 */
export async function committerFromGit(
  location: RepositoryLocation,
  env: GitEnvironment,
): Promise<Identity | undefined> {
  let name = env['GIT_COMMITTER_NAME'];
  let email = env['GIT_COMMITTER_EMAIL'];
  if (!name || !email) {
    const { gitVariablesOf } = await import('./known-variables.ts');
    const variables = gitVariablesOf({ location, env });
    const configured = new Map(variables.map(({ name: key, value }) => [key, value]));
    name ||= configured.get('committer.name') ?? configured.get('user.name');
    email ||= configured.get('committer.email') ?? configured.get('user.email') ?? env['EMAIL'];
  }
  if (!name && !email) return undefined;
  return { name: name || FALLBACK_COMMITTER.name, email: email || FALLBACK_COMMITTER.email };
}
