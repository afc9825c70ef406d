import { existsSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { orElse } from '../../or-else.ts';
import { keyOf, subsectionOf } from '../format/config.ts';
import { type GitVariable, listGitVariables } from '../process/git-variables.ts';
import type { GitPlace } from '../process/run-git.ts';
import type { RepositoryLocation } from '../repository.ts';
import { kindOfPath, readIfThere, startOfFile } from './git-directory.ts';

/**
 * Lists the names of the remotes that git's configuration has, each once, in its order.
 *
 * @throws {GitFailed} {GitNotFound} as `runGit`
 */
export async function listRemotes(git: GitPlace): Promise<string[]> {
  return remotesIn(await listGitVariables(git));
}

/** The names of the remotes among variables. */
export function remotesIn(variables: readonly GitVariable[]): string[] {
  const urls = variables.filter(({ name }) => name.startsWith('remote.') && /^(?:url|pushurl|vcs)$/.test(keyOf(name)));
  return [...new Set(urls.flatMap(({ name }) => subsectionOf(name) ?? []))];
}

/**
 * The default remote of git: that of the checked-out branch (for a push first `branch.<name>.pushRemote` and
 * `remote.pushDefault`), else the only remote, else `origin`.
 *
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
export function folderPathOf(url: string, location: RepositoryLocation): string | undefined {
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
