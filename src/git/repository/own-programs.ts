import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UwfError } from '../../errors.ts';
import { orElse } from '../../or-else.ts';
import { keyOf, parseGitConfig, subsectionOf } from '../format/config.ts';
import { errnoOf } from '../format/errors.ts';
import { type GitVariable, listGitVariables } from '../process/git-variables.ts';
import type { GitPlace } from '../process/run-git.ts';
import type { GitEnvironment, RepositoryLocation } from '../repository.ts';
import { kindOfPath, readIfThere, realPath, startOfFile } from './git-directory.ts';
import { userVariable } from './known-variables.ts';
import { asVariables, readRepositoryVariables } from './repository-config.ts';
import { linkedWorkTrees } from './work-trees.ts';

/** The use of git: to reach a remote, to read and write the files of a work tree, to merge, or to sign commits. */
export type GitUse = 'remote' | 'files' | 'merge' | 'sign';

/** A variable of a repository's own configuration that makes git run a program. */
export type OwnProgram = {
  name: string;
  value: string;
  use: GitUse | 'both';
  /** The folder of a remote inside the repository, whose hooks git would run. */
  folder?: string;
};

const programs: Record<GitUse, RegExp> = {
  remote:
    /^(?:remote\..*\.(?:uploadpack|receivepack|vcs)|core\.(?:sshcommand|askpass|gitproxy)|credential\.(?:.*\.)?helper)$/s,
  // A user's own configuration can have the filter of git-lfs, which runs these, in any case. Source: git-lfs-config(5).
  files:
    /^(?:filter\..*\.(?:clean|smudge|process)|lfs\.extension\..*\.(?:clean|smudge)|lfs\.customtransfer\..*\.path)$/is,
  merge: /^merge\..*\.driver$/s,
  sign: /^gpg\.(?:.*\.)?(?:program|defaultkeycommand)$/s,
};
const including = /^include(?:if\..*)?\.path$/s;
/** Source: `MAX_INCLUDE_DEPTH` in git's config.c. */
const MAX_INCLUDES = 10;

/**
 * Finds the programs that a repository's own configuration makes git run, in all its work trees. Follows includes, whatever
 * their conditions. Starts no git. Leaves out the programs of the user's and the system's configuration.
 * @throws {InvalidGitConfig} if git could not read it either
 */
export function ownPrograms(location: RepositoryLocation, env: GitEnvironment): OwnProgram[] {
  const { commonDir } = location;
  const own = readRepositoryVariables(location);
  const isPerWorkTree = own.some(({ name }) => name === 'extensions.worktreeconfig');
  const folders = isPerWorkTree ? [commonDir, ...linkedWorkTrees(location).map(({ gitDir }) => gitDir)] : [];
  // The folder of a file matters only for its includes.
  const configured: Placed[] = [
    ...own.map((variable) => ({ ...variable, folder: variable.scope === 'local' ? commonDir : location.gitDir })),
    ...folders.flatMap((gitDir) =>
      placed(readRepositoryVariables({ ...location, gitDir }), gitDir).filter(({ scope }) => scope === 'worktree'),
    ),
  ];
  const all = configured.flatMap((variable) => included(variable, env, MAX_INCLUDES));
  const found = [...all.flatMap(programIn), ...remotesInside(all, location)];
  return [...new Map(found.map((one) => [`${one.name}\n${one.value}`, one])).values()];
}

/** Returns all programs if at least one of them runs for this use; else none. */
export function ownProgramsFor(wanted: GitUse, location: RepositoryLocation, env: GitEnvironment): OwnProgram[] {
  const programs = ownPrograms(location, env);
  const runs = ({ use }: OwnProgram): boolean =>
    use === wanted || use === 'both' || (wanted === 'files' && use === 'remote' && hasUsersLfs(env));
  return programs.some(runs) ? programs : [];
}

/** Tells whether the user's own configuration has git-lfs, which reaches the remote when files are read or written. */
function hasUsersLfs(env: GitEnvironment): boolean {
  return ['process', 'smudge'].some((key) => userVariable(`filter.lfs.${key}`, env) !== undefined);
}

/** A variable with the folder of the file that sets it. */
type Placed = GitVariable & { folder: string };

function placed(variables: readonly GitVariable[], folder: string): Placed[] {
  return variables.map((variable) => ({ ...variable, folder }));
}

/** Expands an include into the variables of its file. Returns the include itself if the file cannot be read. */
function included(variable: Placed, env: GitEnvironment, depth: number): Placed[] {
  const { name, value, folder, scope } = variable;
  if (!including.test(name) || !value) return [variable];
  const path = value.startsWith('~/') && env['HOME'] ? join(env['HOME'], value.slice(2)) : value;
  if (depth === 0 || path.startsWith('~') || path.startsWith('%(')) return [variable];
  const file = isAbsolute(path) ? path : resolve(folder, path);
  try {
    const variables = asVariables(scope, parseGitConfig(readIfThere(file) ?? '', file));
    return placed(variables, dirname(file)).flatMap((one) => included(one, env, depth - 1));
  } catch (error) {
    if (!(error instanceof UwfError) && errnoOf(error) === undefined) throw error;
    return [variable];
  }
}

function programIn({ name, value }: GitVariable): OwnProgram[] {
  // An empty value cancels an earlier one.
  if (!value) return [];
  if (including.test(name)) return [{ name, value, use: 'both' }];
  return (['remote', 'files', 'merge', 'sign'] as const).flatMap((use) =>
    programs[use].test(name) ? [{ name, value, use }] : [],
  );
}

/** Finds remotes inside the repository, where git runs hooks. */
function remotesInside(variables: readonly GitVariable[], location: RepositoryLocation): OwnProgram[] {
  const tops = [location.workTree, location.commonDir].flatMap((top) => (top === undefined ? [] : realPath(top)));
  return remotesIn(variables).flatMap((remote) =>
    (['fetch', 'push'] as const).flatMap((direction) => {
      const value = remoteUrl(variables, remote, direction);
      const path = folderPathOf(value, location);
      const folder = path && realPath(path);
      const isInside =
        folder && existsSync(folder) && tops.some((top) => folder === top || folder.startsWith(`${top}/`));
      return isInside ? [{ name: `remote.${remote}.url`, value, use: 'remote' as const, folder }] : [];
    }),
  );
}

/** Lists the names of the remotes that git's configuration has, each once, in its order. */
export async function listRemotes(git: GitPlace): Promise<string[]> {
  return remotesIn(await listGitVariables(git));
}

export function remotesIn(variables: readonly GitVariable[]): string[] {
  const urls = variables.filter(({ name }) => name.startsWith('remote.') && /^(?:url|pushurl|vcs)$/.test(keyOf(name)));
  return [...new Set(urls.flatMap(({ name }) => subsectionOf(name) ?? []))];
}

/**
 * The default remote of git: that of the checked-out branch (for a push first `branch.<name>.pushRemote` and
 * `remote.pushDefault`), else the only remote, else `origin`.
 * Source: `remotes_remote_for_branch` and `remotes_pushremote_for_branch` in git's remote.c.
 */
export function defaultRemote(
  variables: readonly GitVariable[],
  configured: readonly string[],
  { gitDir }: RepositoryLocation,
  direction: 'fetch' | 'push',
): string {
  const last = (name: string): string | undefined => variables.findLast((variable) => variable.name === name)?.value;
  const branch = /^ref:\s*refs\/heads\/(.+)$/.exec(readIfThere(resolve(gitDir, 'HEAD'))?.trim() ?? '')?.[1];
  const forPush = last(`branch.${branch}.pushremote`) ?? last('remote.pushdefault');
  const only = configured.length === 1 ? configured[0] : undefined;
  return (direction === 'push' ? forPush : undefined) ?? last(`branch.${branch}.remote`) ?? only ?? 'origin';
}

/**
 * The address to give git for a text that is not the name of a remote; `undefined` if the text is neither a URL nor a path.
 *
 * A relative path is resolved from `cwd`, then from where git would start: the top of the work tree.
 * Source: git-fetch(1), "GIT URLS".
 */
export function addressOf(text: string, location: RepositoryLocation, cwd: string | undefined): string | undefined {
  if (text === '' || text.startsWith('-')) return undefined;
  // git allows or refuses `<transport>::<address>` and every scheme (`protocol.<name>.allow`).
  if (/^[A-Za-z0-9][A-Za-z0-9+.-]*(?::\/\/|::)/.test(text)) return text;
  const here = resolve(cwd ?? startOf(location), text);
  if (existsSync(here) || existsSync(`${here}.git`)) return here;
  if (existsSync(resolve(startOf(location), text))) return text;
  // `host:path`, as scp writes it; a slash before the colon makes it a path.
  if (/^[^/]+:/.test(text)) return text;
  return text.endsWith('.bundle') ? here : undefined;
}

/** The absolute path of a bundle that exists or will be written; `undefined` for other URLs and paths. */
export function bundlePathOf(url: string, location: RepositoryLocation): string | undefined {
  if (/^(?!file:\/\/)[A-Za-z0-9+.-]*::?/.test(url)) return undefined;
  // Node refuses a URL with a host or a broken escape; git reads it in its own way.
  const named = url.startsWith('file://') ? orElse(() => fileURLToPath(url), undefined) : url;
  if (named === undefined) return undefined;
  const path = resolve(startOf(location), named);
  const kind = kindOfPath(path);
  if (kind === undefined) return path.endsWith('.bundle') ? path : undefined;
  const isBundle = kind === 'file' && /^# v\d git bundle\n/.test(startOfFile(path, 16).toString('latin1'));
  return isBundle ? path : undefined;
}

/** The absolute path of a folder that a URL or path names; `undefined` if it is no path, or not resolved as plain text. */
function folderPathOf(url: string, location: RepositoryLocation): string | undefined {
  const path = url.startsWith('file:///') && !url.includes('%') ? url.slice('file://'.length) : url;
  // Empty, `host:path`, `scheme://`, `helper::`, or a `~` that git expands.
  if (path === '' || /^[^/]*:|^~/.test(path)) return undefined;
  // `..` behind a symbolic link leads elsewhere. The folder where git starts has its links resolved.
  if (/(?:^|\/)\.\.(?:\/|$)/.test(path.replace(/^(?:\.\.?\/+)*(?:\.\.?$)?/, ''))) return undefined;
  return resolve(startOf(location), path);
}

/** A URL or path that means the same from every folder of this machine, as `git clone` stores it. */
export function absoluteUrl(url: string, location: RepositoryLocation): string {
  if (/^[^/]*:|^~/.test(url) || isAbsolute(url)) return url;
  return folderPathOf(url, location) ?? `${startOf(location)}/${url}`;
}

/** A URL without its password, and without a user name that can be a token. */
export function withoutPassword(url: string): string {
  return url.replace(/^([A-Za-z0-9+.-]+:\/\/)([^/?#]*)@/, (_, scheme: string, userinfo: string) => {
    const [user = '', password] = userinfo.split(':', 2);
    // Over http a name without a password of its own can be an access token; over ssh it is the user.
    const isToken = /^https?:/i.test(scheme) && (!password || password === 'x-oauth-basic');
    return user === '' || isToken ? scheme : `${scheme}${user}@`;
  });
}

function startOf({ workTree, gitDir }: RepositoryLocation): string {
  return workTree ?? gitDir;
}

/** A rule `url.<base>.insteadOf = <start>`: git replaces the start of a URL by the base. */
type Rewrite = { start: string; base: string };

/**
 * The URL that git uses for a remote, or for a URL or path; the first of several.
 *
 * For a push it is `pushurl`, or the `url` rewritten by `pushInsteadOf`, or the same as for a fetch.
 * @param address a name in the configuration, a URL or a path
 * Source: git-config(1), `url.<base>.insteadOf`; `alias_all_urls` in git's remote.c. `git remote get-url` says the same.
 */
export function remoteUrl(variables: readonly GitVariable[], address: string, direction: 'fetch' | 'push'): string {
  const configured = (key: string): string[] =>
    variables.flatMap(({ name, value }) => (name === `remote.${address}.${key}` ? (value ?? []) : []));
  const rewrites = rewritesOf(variables, 'insteadof');
  const own = configured('url');
  // Like git, treats the name of a remote without a URL as its URL.
  const urls = own.length > 0 ? own : [address];
  const pushUrls = configured('pushurl');
  if (direction === 'push') {
    const [pushUrl] = pushUrls;
    if (pushUrl !== undefined) return rewritten(pushUrl, rewrites) ?? pushUrl;
    const forPush = rewritesOf(variables, 'pushinsteadof');
    const [first] = urls.flatMap((url) => rewritten(url, forPush) ?? []);
    if (first !== undefined) return first;
  }
  const [url = address] = urls;
  return rewritten(url, rewrites) ?? url;
}

/** In the order of git: all rules of one base, then of the next. */
function rewritesOf(variables: readonly GitVariable[], key: string): Rewrite[] {
  const byBase = new Map<string, Rewrite[]>();
  for (const { name, value } of variables) {
    const base = name.startsWith('url.') && keyOf(name) === key ? subsectionOf(name) : undefined;
    if (base === undefined || value === undefined) continue;
    byBase.set(base, [...(byBase.get(base) ?? []), { start: value, base }]);
  }
  return [...byBase.values()].flat();
}

/** Applies the matching rule with the longest start, the first of several; `undefined` if none matches. */
function rewritten(url: string, rewrites: readonly Rewrite[]): string | undefined {
  let longest: Rewrite | undefined;
  for (const rewrite of rewrites) {
    if (url.startsWith(rewrite.start) && rewrite.start.length > (longest?.start.length ?? -1)) longest = rewrite;
  }
  return longest && longest.base + url.slice(longest.start.length);
}
