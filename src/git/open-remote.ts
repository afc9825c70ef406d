import type { AskForCredentials } from './http/http-connection.ts';
import type { GitEnvironment } from './git-directory.ts';
import { addressOf, bundlePathOf, defaultRemote, folderPathOf, withoutPassword } from './native/choose-remote.ts';
import { keyOf, listGitVariables, listingAfter, subsectionOf, type GitVariable } from './native/git-variables.ts';
import { remotesIn } from './native/list-remotes.ts';
import type { NativeRemote, NativeRemoteOptions } from './native/native-remote.ts';
import { readConfigFiles, readRepositoryVariables } from './native/read-config-files.ts';
import { remoteUrl } from './native/remote-url.ts';
import { GitNotFound } from './native/run-git.ts';
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
  /** Asked for a password over HTTP where there is no git, which would ask its credential helpers. */
  onAuth?: AskForCredentials;
};

/**
 * Finds a remote as git does: by a name in its configuration, as a URL or as a path; without a name the one that git
 * would take. Nothing is connected to yet.
 *
 * git itself reaches it, but for a push into an ordinary folder, which uwf writes. Where there is no git, or the repository
 * is not on a disk, HTTP is spoken in this process.
 * @throws {NoSuchRemote} if there is none of this name, and it is no URL and no path
 * @throws {GitNotFound} if there is no git and the remote is not reached over HTTP
 * @throws {GitFailed} as `runGit`
 */
export async function openRemote(
  repository: Repository,
  name: string | undefined,
  options: OpenRemoteOptions,
): Promise<Remote> {
  const { location, stateDir } = repository;
  if (location === undefined || stateDir === undefined) return openOverHttp(repository, name ?? 'origin', [], options);
  const { env, direction = 'fetch', mayAsk = false } = options;
  const variables = readConfigFiles(location, env) ?? (await askGit(location, env));
  if (variables === undefined) {
    const own = readRepositoryVariables(location);
    return openOverHttp(repository, name ?? defaultRemote(own, remotesIn(own), location, direction), own, options);
  }
  const configured = remotesIn(variables);
  const chosen = name ?? defaultRemote(variables, configured, location, direction);
  const isConfigured = configured.includes(chosen);
  const address = isConfigured ? chosen : addressOf(chosen, location, options.cwd);
  if (address === undefined) throw new NoSuchRemote(chosen, configured);
  const url = remoteUrl(variables, address, direction);
  const native: NativeRemoteOptions = {
    name: withoutPassword(chosen),
    url: withoutPassword(url),
    isConfigured,
    location,
    stateDir,
    env,
    address,
    mayAsk,
    format: repository.objects.format,
    listVariables: listingAfter(variables, location, env),
  };
  const openNative = async (): Promise<NativeRemote> => {
    const { NativeRemote } = await import('./native/native-remote.ts');
    return new NativeRemote(repository, native);
  };
  const bundle = bundlePathOf(url, location);
  if (bundle !== undefined) {
    const { BundleRemote } = await import('./native/bundle-remote.ts');
    return new BundleRemote(await openNative(), bundle, native);
  }
  const path = folderPathOf(remoteUrl(variables, address, 'push'), location);
  if (path === undefined) return openNative();
  const { FolderRemote } = await import('./folder/folder-remote.ts');
  return new FolderRemote(repository, { ...native, path, variables }, openNative);
}

/** `undefined` where there is no git. While it answers, what talks to it later is loaded. */
async function askGit(location: RepositoryLocation, env: GitEnvironment): Promise<GitVariable[] | undefined> {
  const [variables] = await Promise.all([readVariables(location, env), import('./native/native-remote.ts')]);
  return variables;
}

async function readVariables(location: RepositoryLocation, env: GitEnvironment): Promise<GitVariable[] | undefined> {
  try {
    return await listGitVariables(location, env);
  } catch (error) {
    if (error instanceof GitNotFound) return undefined;
    throw error;
  }
}

async function openOverHttp(
  repository: Repository,
  name: string,
  variables: readonly GitVariable[],
  { onAuth }: OpenRemoteOptions,
): Promise<Remote> {
  const own = variables.filter(
    (variable) => subsectionOf(variable.name) === name && variable.name.startsWith('remote.'),
  );
  const url = own.find((variable) => keyOf(variable.name) === 'url')?.value;
  const address = url ?? name;
  if (!/^https?:\/\//i.test(address)) {
    throw url === undefined && !address.includes(':')
      ? new NoSuchRemote(name, remotesIn(variables))
      : new GitNotFound();
  }
  const { openHttpRemote } = await import('./http/open-http-remote.ts');
  return openHttpRemote(repository, { name, url: address, isConfigured: url !== undefined, ...(onAuth && { onAuth }) });
}
