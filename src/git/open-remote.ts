import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { GitEnvironment } from './git-directory.ts';
import { readIfThere } from './git-directory.ts';
import { listGitVariables, type GitVariable } from './native/git-variables.ts';
import { remotesIn } from './native/list-remotes.ts';
import { NativeRemote } from './native/native-remote.ts';
import { runGit } from './native/run-git.ts';
import { NoSuchRemote } from './remote-errors.ts';
import type { Remote } from './remote.ts';
import type { Repository, RepositoryLocation } from './repository.ts';

/** What finding a remote is told. */
export type OpenRemoteOptions = {
  /** What git inherits. */
  env: GitEnvironment;
  /** What it is wanted for: where nothing is named, the two may have different defaults. Default: `fetch`. */
  direction?: 'fetch' | 'push';
  /** What a relative path is relative to, where something lies there; else it means what it means to git. */
  cwd?: string;
  /** Whether git may ask a person at the terminal for a password or a passphrase; default: it must not. */
  mayAsk?: boolean;
};

/**
 * Finds a remote as git does: by a name in its configuration, as a URL or as a path.
 *
 * Without a name it is the one of the branch that is checked out (for a push first `branch.<name>.pushRemote` and
 * `remote.pushDefault`), else the only one there is, else `origin`. Nothing is connected to yet.
 * @throws {NoSuchRemote} if there is none of this name, and it is no URL and no path
 * @throws {GitFailed} {GitNotFound} as `runGit`
 * Source: git-fetch(1), "GIT URLS" and "REMOTES"; `remotes_remote_for_branch` in git's remote.c.
 */
export async function openRemote(
  repository: Repository,
  name: string | undefined,
  options: OpenRemoteOptions,
): Promise<Remote> {
  const { location, stateDir } = repository;
  if (location === undefined || stateDir === undefined) throw new Error('the repository is not on a disk');
  const { env, direction = 'fetch', mayAsk = false } = options;
  const variables = await listGitVariables(location, env);
  const configured = remotesIn(variables);
  const chosen = name ?? defaultRemote(variables, configured, location, direction);
  const isConfigured = configured.includes(chosen);
  const address = isConfigured ? chosen : addressOf(chosen, location, options.cwd);
  if (address === undefined) throw new NoSuchRemote(chosen, configured);
  const url = await urlOf({ location, env }, address, isConfigured, direction);
  const shown = { name: withoutPassword(chosen), url: withoutPassword(url), isConfigured };
  return new NativeRemote(repository, { ...shown, location, stateDir, env, address, mayAsk });
}

function defaultRemote(
  variables: readonly GitVariable[],
  configured: readonly string[],
  { gitDir }: RepositoryLocation,
  direction: 'fetch' | 'push',
): string {
  const last = (name: string): string | undefined => variables.findLast((variable) => variable.name === name)?.value;
  const branch = /^ref:\s*refs\/heads\/(.+)$/.exec(readIfThere(resolve(gitDir, 'HEAD'))?.trim() ?? '')?.[1];
  const forPush =
    direction === 'push' ? (last(`branch.${branch}.pushremote`) ?? last('remote.pushdefault')) : undefined;
  const only = configured.length === 1 ? configured[0] : undefined;
  return forPush ?? last(`branch.${branch}.remote`) ?? only ?? 'origin';
}

/** What git is to be told for something that is no name in its configuration; `undefined` if it cannot be a place. */
function addressOf(text: string, location: RepositoryLocation, cwd: string | undefined): string | undefined {
  if (text === '' || text.startsWith('-')) return undefined;
  // `<transport>::<address>` is for git to allow or refuse (`protocol.<name>.allow`), as is every scheme.
  if (/^[A-Za-z0-9][A-Za-z0-9+.-]*(?::\/\/|::)/.test(text)) return text;
  const here = resolve(cwd ?? location.workTree ?? location.gitDir, text);
  if (existsSync(here)) return here;
  if (existsSync(resolve(location.workTree ?? location.gitDir, text))) return text;
  // `host:path`, as scp writes it; a slash before the colon makes it a path.
  if (/^[^/]+:/.test(text)) return text;
  return text.endsWith('.bundle') ? here : undefined;
}

/** Where it is, after `url.<base>.insteadOf`. */
async function urlOf(
  run: { location: RepositoryLocation; env: GitEnvironment },
  address: string,
  isConfigured: boolean,
  direction: 'fetch' | 'push',
): Promise<string> {
  const args =
    isConfigured && direction === 'push'
      ? ['remote', 'get-url', '--push', '--', address]
      : ['ls-remote', '--get-url', '--', address];
  const printed = (await runGit({ ...run, args })).toString('utf8');
  return printed.split('\n')[0] ?? address;
}

/** A URL as it may be shown: its password left out. */
function withoutPassword(url: string): string {
  return url.replace(/^([A-Za-z0-9+.-]+:\/\/)([^/@]*)@/, (_, scheme: string, userinfo: string) => {
    const [user = ''] = userinfo.split(':');
    return userinfo.includes(':') && user !== ''
      ? `${scheme}${user}@`
      : userinfo.includes(':')
        ? scheme
        : `${scheme}${userinfo}@`;
  });
}
