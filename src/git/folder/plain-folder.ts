import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { openDiskStores, type DiskStores } from '../disk/open-disk-stores.ts';
import { isGitDirectory, kindOfPath, realPath, type GitEnvironment } from '../git-directory.ts';
import { namesIn } from '../names-in.ts';
import { errnoOf } from '../object-errors.ts';
import type { GitVariable } from '../native/git-variables.ts';
import { asVariables } from '../native/read-config-files.ts';
import { readRepositoryConfig } from '../repository-config.ts';
import { readRepositoryFormat } from '../repository-format.ts';
import type { RepositoryLocation } from '../repository.ts';

/** Who pushes tries again; git itself waits for 0.1 s. */
const lockTimeoutMs = 1_000;
/** git's own limit (`gc.autoPackLimit`): with more of them its next push has git clean up, which only git does. */
const mostPacks = 50;

/** What has git do more for a push than to take in objects and to move refs, or do it in another way. */
const special =
  /^(?:receive|transfer|hook|extensions|fsck)\.|^protocol\.(?:file\.)?allow$|^push\.(?:gpgsign|pushoption)$|^core\.(?:hookspath|sharedrepository|fsync|fsyncmethod|fsyncobjectfiles|worktree)$|^include(?:if)?\./;
/** The same, by the environment; who has git trace what it does wants git to do it. */
const specialInEnvironment = /^GIT_(?:TRACE|ALLOW_PROTOCOL|QUARANTINE|PUSH_OPTION|TEST|REF_PARANOIA|REDACT)/;

/**
 * Opens the repository that a path leads to, if a push into it by git would take in objects, move refs, and do nothing
 * else: without hooks, settings for who pushes, shared permissions, and what uwf's own stores do not speak. Otherwise, and
 * wherever it is not sure, `undefined`: git knows what to do, or says what is wrong.
 *
 * @param path absolute
 * @param variables what git is configured to where the push starts; the system's and the user's hold there too
 * Source: git-receive-pack(1), githooks(5); `enter_repo` in git's path.c for what a path leads to.
 */
export function openPlainFolder(
  path: string,
  variables: readonly GitVariable[],
  env: GitEnvironment,
): DiskStores | undefined {
  try {
    return openIfPlain(path, variables, env);
  } catch (error) {
    if (error instanceof UwfError || errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}

function openIfPlain(path: string, variables: readonly GitVariable[], env: GitEnvironment): DiskStores | undefined {
  if (Object.keys(env).some((name) => specialInEnvironment.test(name))) return undefined;
  const location = locate(path);
  if (location === undefined || !isOwn(location)) return undefined;
  const { gitDir } = location;
  const { shared, isPerWorktree } = readRepositoryConfig(gitDir, gitDir);
  if (isPerWorktree || [...variables, ...asVariables('local', shared)].some(isSpecial)) return undefined;
  const { objects, refs, promisors } = readRepositoryFormat(shared, gitDir);
  if (objects !== 'sha1' || refs !== 'files' || promisors.length > 0) return undefined;
  const unusual = ['commondir', 'shallow', 'objects/info/alternates', 'objects/info/http-alternates'];
  if (unusual.some((name) => existsSync(join(gitDir, name)))) return undefined;
  if (namesIn(join(gitDir, 'hooks')).some((name) => !name.endsWith('.sample'))) return undefined;
  const packs = namesIn(join(gitDir, 'objects/pack')).filter((name) => name.endsWith('.pack'));
  return packs.length > mostPacks ? undefined : openDiskStores(location, { lockTimeoutMs });
}

/** A bare repository, or one with a work tree whose `.git` is a folder. */
function locate(path: string): RepositoryLocation | undefined {
  const inside = join(path, '.git');
  const gitDir = existsSync(inside) ? inside : path;
  if (kindOfPath(gitDir) !== 'folder' || !isGitDirectory(gitDir, {})) return undefined;
  const real = realPath(gitDir);
  return { gitDir: real, commonDir: real, workTree: undefined };
}

/** git does not go into a folder of somebody else's. */
function isOwn({ gitDir }: RepositoryLocation): boolean {
  const user = process.geteuid?.();
  return user !== undefined && [gitDir, resolve(gitDir, 'config')].every((path) => statSync(path).uid === user);
}

function isSpecial({ name, value }: GitVariable): boolean {
  return special.test(name) || (name === 'core.logallrefupdates' && value?.toLowerCase() === 'always');
}
