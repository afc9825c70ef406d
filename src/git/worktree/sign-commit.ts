import { existsSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { parseCommit } from '../format/commit.ts';
import { parseObjectId, type GitObject } from '../format/object-id.ts';
import { listGitVariables } from '../process/git-variables.ts';
import { runGit } from '../process/run-git.ts';
import type { GitPlace } from '../process/spawn-git.ts';
import type { Repository } from '../repository.ts';
import { objectFolderOf, Quarantine } from '../stores/quarantine.ts';
import { mergesFolder } from './merge-folder.ts';
import { asRefusal } from './merge-target.ts';

/**
 * Reads how `git commit` signs in a repository: the settings that make it sign in the same way elsewhere; `undefined` if it
 * does not sign. An include of the configuration can depend on the folder and the branch, so a git elsewhere may see others.
 *
 * @throws {UwfError} `merge-refused` if the configuration says neither yes nor no
 * Source: git-config(1), `commit.gpgSign`, `gpg.*`, `user.signingKey`.
 */
export async function readSigning(git: GitPlace): Promise<string[] | undefined> {
  const args = ['config', '--type=bool', '--get', 'commit.gpgSign'];
  const asked = await runGit({ ...git, args, codes: [0, 1] }).catch((error: unknown) => {
    throw asRefusal(error);
  });
  if (asked.toString('latin1').trim() !== 'true') return undefined;
  const variables = await listGitVariables(git);
  return variables.flatMap(({ name, value }) => {
    if (!/^(?:commit\.gpgsign$|user\.signingkey$|gpg\.)/.test(name)) return [];
    return value === undefined ? name : `${name}=${fromTop(git, value)}`;
  });
}

/** git resolves relative paths from the top of the work tree. A program without a slash is on the PATH. */
function fromTop({ location: { workTree } }: GitPlace, value: string): string {
  const path = join(workTree ?? '', value);
  return workTree !== undefined && value.includes('/') && !isAbsolute(value) && existsSync(path) ? path : value;
}

/**
 * Lets git make a signed commit of an unsigned one, as `git commit` would sign it. Everything else in it stays. The
 * repository does not get it.
 *
 * @throws {UwfError} `merge-refused` with git's words if the signer fails
 */
export async function signCommit(
  { stateDir, objects }: Repository,
  { location, env }: GitPlace,
  { data }: GitObject,
): Promise<GitObject> {
  if (stateDir === undefined) throw new TypeError('only git signs, and only on a disk');
  const { tree, parents, author, committer, message } = parseCommit(data, objects.format);
  const quarantine = new Quarantine(mergesFolder(stateDir), objectFolderOf(location, env));
  try {
    const made = await runGit({
      location,
      env,
      variables: {
        ...quarantine.variables(env),
        GIT_AUTHOR_NAME: author.name,
        GIT_AUTHOR_EMAIL: author.email,
        GIT_AUTHOR_DATE: dateOf(author),
        GIT_COMMITTER_NAME: committer.name,
        GIT_COMMITTER_EMAIL: committer.email,
        GIT_COMMITTER_DATE: dateOf(committer),
      },
      settings: ['i18n.commitEncoding=UTF-8'],
      args: ['commit-tree', '--gpg-sign', ...parents.flatMap((parent) => ['-p', parent]), '-F', '-', tree],
      input: message,
      // The signer may need a passphrase.
      mayAsk: true,
    });
    const id = parseObjectId(made.toString('latin1').trim());
    const [signed] = quarantine.looseObjects([id]);
    if (signed === undefined) throw new TypeError(`git did not write ${id}`);
    return signed;
  } catch (error) {
    throw asRefusal(error);
  } finally {
    quarantine.remove();
  }
}

function dateOf({ atMs }: { atMs: number }): string {
  return `@${Math.floor(atMs / 1000)} +0000`;
}
