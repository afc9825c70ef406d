import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { openDiskStores, type DiskStores } from '../disk/open-disk-stores.ts';
import { isGitDirectory, kindOfPath, readIfThere, realPath, type GitEnvironment } from '../git-directory.ts';
import { namesIn } from '../names-in.ts';
import { errnoOf } from '../object-errors.ts';
import type { GitVariable } from '../native/git-variables.ts';
import { asVariables } from '../native/read-config-files.ts';
import type { RefName } from '../ref-store.ts';
import { readRepositoryConfig } from '../repository-config.ts';
import { readRepositoryFormat } from '../repository-format.ts';
import type { RepositoryLocation } from '../repository.ts';

/** git itself waits for 0.1 s, and 1 s for packed refs. */
const lockTimeoutMs = 2_000;
/** git's own limit (`gc.autoPackLimit`): with more of them its next push has git clean up, which only git does. */
const mostPacks = 50;

/** What has git do more for a push than to take in objects and to move refs, or do it in another way. */
const special = new RegExp(
  [
    String.raw`^(?:receive|transfer|hook|extensions|fsck|trace2|include|includeif)\.`,
    String.raw`^protocol\.(?:file\.)?allow$`,
    String.raw`^push\.(?:gpgsign|pushoption)$`,
    String.raw`^core\.(?:hookspath|sharedrepository|fsync|fsyncmethod|fsyncobjectfiles|worktree)$`,
    // Of a partial clone contents may have to be fetched first.
    String.raw`\.promisor$`,
  ].join('|'),
);
/** The same, by the environment; who has git trace what it does wants git to do it. */
const specialInEnvironment =
  /^GIT_(?:TRACE|ALLOW_PROTOCOL|PROTOCOL_FROM_USER|QUARANTINE|PUSH_OPTION|TEST|REF_PARANOIA|REDACT)/;
/** Of these git keeps a log, and minds what is checked out. */
const ofGit = /^refs\/(?:heads|remotes|notes)\//;

/** What is known of a push before it is made. */
export type PlainPush = {
  /** Where it goes; absolute. */
  path: string;
  /** The refs that it changes. */
  names: readonly RefName[];
  /** What git is configured to where the push starts; the system's and the user's hold there too. */
  variables: readonly GitVariable[];
  env: GitEnvironment;
};

/**
 * Opens the repository that a push goes to, if git would take in objects there, move refs, and do nothing else: without
 * hooks, settings for who pushes, shared permissions, logs of the refs, and what uwf's own stores do not speak. Otherwise,
 * and wherever it is not sure, `undefined`: git knows what to do, or says what is wrong.
 *
 * Source: git-receive-pack(1), githooks(5).
 */
export function openPlainFolder(push: PlainPush): DiskStores | undefined {
  return unlessOdd(() => openIfPlain(push));
}

/** Takes away the locks that a killed push has left in a folder, which would keep git waiting there. */
export async function removeStaleLocksIn(path: string): Promise<void> {
  const location = unlessOdd(() => locate(path));
  if (location === undefined || !existsSync(join(location.gitDir, 'uwf/locks'))) return;
  try {
    await openDiskStores(location).refs.removeStaleLocks();
  } catch (error) {
    // Whoever may remove them does it later.
    if (!(error instanceof UwfError) && errnoOf(error) === undefined) throw error;
  }
}

function openIfPlain({ path, names, variables, env }: PlainPush): DiskStores | undefined {
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
  const head = readIfThere(join(gitDir, 'HEAD'))
    ?.replace(/^ref:\s*/, '')
    .trim();
  if (names.some((name) => name === head || isSpecialRef(gitDir, name))) return undefined;
  const packs = namesIn(join(gitDir, 'objects/pack')).filter((name) => name.endsWith('.pack'));
  return packs.length > mostPacks ? undefined : openDiskStores(location, { lockTimeoutMs });
}

/**
 * A bare repository, or one with a work tree whose `.git` is a folder.
 *
 * Source: `enter_repo` in git's path.c.
 */
function locate(path: string): RepositoryLocation | undefined {
  const inside = join(path, '.git');
  const gitDir = existsSync(inside) ? inside : path;
  if (kindOfPath(gitDir) !== 'folder' || !isGitDirectory(gitDir, {})) return undefined;
  const real = realPath(gitDir);
  return { gitDir: real, commonDir: real, workTree: undefined };
}

/** git does not go into a folder of somebody else's; and where this user may not write, it says so before it has written. */
function isOwn({ gitDir }: RepositoryLocation): boolean {
  for (const name of ['', 'refs', 'objects']) accessSync(join(gitDir, name), constants.W_OK);
  const user = process.geteuid?.();
  return user !== undefined && [gitDir, join(gitDir, 'config')].every((path) => statSync(path).uid === user);
}

function isSpecial({ name, value }: GitVariable): boolean {
  return special.test(name) || (name === 'core.logallrefupdates' && value?.toLowerCase() === 'always');
}

/** One that leads to another one, or of which there is a log. */
function isSpecialRef(gitDir: string, name: RefName): boolean {
  if (ofGit.test(name) || existsSync(join(gitDir, 'logs', name))) return true;
  return readIfThere(join(gitDir, name))?.startsWith('ref:') === true;
}

/** `undefined` where something cannot be looked at, or understood. */
function unlessOdd<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof UwfError || errnoOf(error) !== undefined) return undefined;
    throw error;
  }
}
