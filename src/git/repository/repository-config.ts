import { resolve } from 'node:path';
import { UwfError } from '../../errors.ts';
import { configBoolean, type ConfigEntry, findConfigEntry, parseGitConfig } from '../format/config.ts';
import type { ObjectFormat } from '../format/object-id.ts';
import type { GitVariable } from '../process/git-variables.ts';
import type { GitEnvironment, Identity, RepositoryLocation } from '../repository.ts';
import { readIfThere, realPath } from './git-directory.ts';

/** A repository's own configuration, without the user's and the system's. */
export type RepositoryConfig = {
  /** The file that linked worktrees share. Only this file describes the repository's format. */
  path: string;
  shared: ConfigEntry[];
  /** `shared`, followed by the worktree's own variables if `extensions.worktreeConfig` is set. */
  all: ConfigEntry[];
  isPerWorktree: boolean;
};

/**
 * Reads `<common dir>/config` and, if it is enabled, `<git dir>/config.worktree`. Missing files are empty.
 * @throws {InvalidGitConfig} if git could not read them either
 */
export function readRepositoryConfig(gitDir: string, commonDir: string): RepositoryConfig {
  const path = `${commonDir}/config`;
  const shared = parseGitConfig(readIfThere(path) ?? '', path);
  const isPerWorktree = configBoolean(findConfigEntry(shared, 'extensions.worktreeconfig'), path) ?? false;
  if (!isPerWorktree) return { path, shared, all: shared, isPerWorktree };
  const ownPath = `${gitDir}/config.worktree`;
  const own = parseGitConfig(readIfThere(ownPath) ?? '', ownPath);
  return { path, shared, all: [...shared, ...own], isPerWorktree };
}

/**
 * The work tree that a repository's own configuration names: null if it says that there is none, `undefined` if it says
 * nothing.
 * @param base the folder that a relative path starts from
 */
export function configuredWorkTree({ all, path }: RepositoryConfig, base: string): string | null | undefined {
  if (configBoolean(findConfigEntry(all, 'core.bare'), path) === true) return null;
  const configured = findConfigEntry(all, 'core.worktree')?.value;
  return configured === undefined ? undefined : realPath(resolve(base, configured));
}

/**
 * The variables of a repository's own configuration, includes not followed.
 * @throws {InvalidGitConfig} if git could not read it either
 */
export function readRepositoryVariables({ gitDir, commonDir }: RepositoryLocation): GitVariable[] {
  const { shared, all } = readRepositoryConfig(gitDir, commonDir);
  return [...asVariables('local', shared), ...asVariables('worktree', all.slice(shared.length))];
}

/** The entries of a configuration file, as git lists them. */
export function asVariables(scope: string, entries: readonly ConfigEntry[]): GitVariable[] {
  return entries.map(({ name, value }) => ({ scope, name, value }));
}

/** A repository in an unsupported format. It was not changed. */
export function unsupportedRepository(path: string, feature: string, hint: string): UwfError {
  return new UwfError(`the repository ${path} uses ${feature}, which is not spoken here; nothing was changed`, {
    code: 'unsupported-repository',
    kind: 'environment',
    hint,
    facts: { path, feature },
  });
}

const ordinaryClone = 'work in a clone of the ordinary format (sha1 objects, files as refs)';
const filesAsRefs = "run 'git refs migrate --ref-format=files', or work in a clone of the ordinary format";

/** Extensions that do not change how objects and refs are read and written. A partial clone lacks objects, and has no others. */
const harmless = new Set(['noop', 'noop-v1', 'partialclone', 'preciousobjects', 'worktreeconfig', 'relativeworktrees']);

export type RepositoryFormat = {
  objects: ObjectFormat;
  refs: 'files' | 'reftable';
};

/**
 * Reads a repository's format from its configuration.
 *
 * Stricter than git in one point: an unknown extension is refused in version 0 too, where git ignores it.
 * @param path the repository's folder, for the message
 * @throws {UwfError} `unsupported-repository` naming the feature
 * Source: git's Documentation/technical/repository-version.txt and `check_repo_format` (setup.c).
 */
export function readRepositoryFormat(entries: readonly ConfigEntry[], path: string): RepositoryFormat {
  const version = findConfigEntry(entries, 'core.repositoryformatversion')?.value ?? '0';
  if (version !== '0' && version !== '1') {
    throw unsupportedRepository(path, `repositoryFormatVersion ${version}`, ordinaryClone);
  }
  const format: RepositoryFormat = { objects: 'sha1', refs: 'files' };
  for (const { name, value = 'true' } of entries) {
    if (name.startsWith('extensions.')) readExtension(name.slice('extensions.'.length), value, format, path);
  }
  return format;
}

function readExtension(key: string, value: string, format: RepositoryFormat, path: string): void {
  if (key === 'objectformat' && (value === 'sha1' || value === 'sha256')) format.objects = value;
  else if (key === 'refstorage' && (value === 'files' || value === 'reftable')) format.refs = value;
  else if (key === 'objectformat') throw unsupportedRepository(path, `objectFormat ${value}`, ordinaryClone);
  else if (key === 'refstorage') throw unsupportedRepository(path, `refStorage ${value}`, filesAsRefs);
  else if (key === 'compatobjectformat') {
    throw unsupportedRepository(path, `compatObjectFormat ${value}`, ordinaryClone);
  } else if (!harmless.has(key)) throw unsupportedRepository(path, `the extension '${key}'`, ordinaryClone);
}

/**
 * Checks that a format is the ordinary one, for stores that support no other.
 * @param need what would open the repository, if anything would
 * @throws {UwfError} `unsupported-repository` naming the feature
 */
export function assertOrdinaryFormat({ objects, refs }: RepositoryFormat, path: string, need?: string): void {
  const hint = (otherwise: string): string => (need === undefined ? otherwise : `${need}; or ${otherwise}`);
  if (objects !== 'sha1') throw unsupportedRepository(path, `objectFormat ${objects}`, hint(ordinaryClone));
  if (refs !== 'files') throw unsupportedRepository(path, `refStorage ${refs}`, hint(filesAsRefs));
}

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
