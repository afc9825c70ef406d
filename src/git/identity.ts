import { execFile } from 'node:child_process';
import type { Identity, RepositoryLocation } from './repository.ts';

/** Who commits where git knows no user. */
export const FALLBACK_COMMITTER: Identity = { name: 'uwf', email: 'uwf@localhost' };

/**
 * Finds out who git would say commits here, with at most one process.
 *
 * `GIT_COMMITTER_NAME` and `_EMAIL` win, then `committer.*`, then `user.*`, then `EMAIL`. What alone is missing of the two is
 * filled from {@link FALLBACK_COMMITTER}; `undefined` when neither is set or there is no git to ask.
 * @param env the environment git runs with (`PATH`, `HOME`, `GIT_CONFIG_…`)
 * Source: git-commit(1), "COMMIT INFORMATION"; git-var(1).
 */
export async function committerFromGit(
  location: RepositoryLocation,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Identity | undefined> {
  let name = env['GIT_COMMITTER_NAME'];
  let email = env['GIT_COMMITTER_EMAIL'];
  if (!name || !email) {
    const configured = await identityVariables(location, env);
    name ||= configured.get('committer.name') ?? configured.get('user.name');
    email ||= configured.get('committer.email') ?? configured.get('user.email') ?? env['EMAIL'];
  }
  if (!name && !email) return undefined;
  return { name: name || FALLBACK_COMMITTER.name, email: email || FALLBACK_COMMITTER.email };
}

async function identityVariables(
  location: RepositoryLocation,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Map<string, string>> {
  const pattern = '^(user|committer)\\.(name|email)$';
  const output = await new Promise<string>((resolve) => {
    execFile(
      'git',
      ['config', '-z', '--get-regexp', pattern],
      { cwd: location.workTree ?? location.gitDir, env: { ...env, GIT_DIR: location.gitDir } },
      // No git, or nothing that matches: both mean that git says nothing about the user.
      (_error, stdout) => resolve(stdout),
    );
  });
  const variables = new Map<string, string>();
  for (const record of output.split('\0')) {
    const lineEnd = record.indexOf('\n');
    // A key without a value has no line end and says nothing; of several values the last wins.
    if (lineEnd !== -1) variables.set(record.slice(0, lineEnd), record.slice(lineEnd + 1));
  }
  return variables;
}
