import {
  addressOf,
  bundlePathOf,
  defaultRemote,
  remotesIn,
  remoteUrl,
  withoutPassword,
} from '../repository/choose-remote.ts';
import { listGitVariables, listingAfter } from '../process/git-variables.ts';
import { MappedRemote } from './mapped-remote.ts';
import { NativeRemote } from './native-remote.ts';
import { rememberVariables } from '../repository/known-variables.ts';
import { RestoringRemote } from './restoring-remote.ts';
import { isBranchOrTag, refMappingOf } from './ref-mapping.ts';
import { noSuchRemote, RemotesNeedDisk } from './remote-errors.ts';
import type { Remote } from './remote.ts';
import type { GitEnvironment, Repository } from '../repository.ts';

/** Options of {@link openRemote}. */
export type OpenRemoteOptions = {
  /** The environment of git. */
  env: GitEnvironment;
  /** The purpose, which can select another default remote and URL. Default: `fetch`. */
  direction?: 'fetch' | 'push';
  /** The base of a relative path that exists there; other paths are resolved by git. */
  cwd?: string;
  /** Whether git may ask at the terminal for a password or a passphrase; default: no. */
  mayAsk?: boolean;
  /** Called for each ref whose objects the remote had lost, and that was pushed to it again. */
  onRestored?: (ref: string) => void;
};

/**
 * Finds a remote as git does: by a name in its configuration, as a URL or as a path; without a name the default of git. Makes
 * no connection.
 *
 * @throws {RemotesNeedDisk} if the repository is not on a disk
 * @throws {GitNotFound} if there is no git: only git reaches remotes
 * @throws {UwfError} `no-such-remote` if the name is no remote, URL or path
 * @throws {UwfError} `invalid-uwf-prefix` if `remote.<name>.uwfPrefix` is no folder of refs
 * @throws {GitFailed} as `runGit`
 */
export async function openRemote(
  repository: Repository,
  name: string | undefined,
  options: OpenRemoteOptions,
): Promise<Remote> {
  const { location, stateDir } = repository;
  if (location === undefined || stateDir === undefined) throw new RemotesNeedDisk();
  const { env, direction = 'fetch', mayAsk = false, onRestored } = options;
  const variables = await listGitVariables({ location, env });
  rememberVariables(location, variables);
  const configured = remotesIn(variables);
  const chosen = name ?? defaultRemote(variables, configured, location, direction);
  const isConfigured = configured.includes(chosen);
  const address = isConfigured ? chosen : addressOf(chosen, location, options.cwd);
  if (address === undefined) throw noSuchRemote(chosen, configured);
  const url = remoteUrl(variables, address, direction);
  const mapping = isConfigured ? refMappingOf(variables, chosen) : undefined;
  const native = new NativeRemote(repository, {
    name: withoutPassword(chosen),
    url: withoutPassword(url),
    isConfigured,
    location,
    stateDir,
    env,
    address,
    mayAsk,
    isPartial: variables.some(({ name }) => /^(?:extensions\.partialclone|remote\..+\.promisor)$/.test(name)),
    bundle: bundlePathOf(url, location),
    format: repository.objects.format,
    listVariables: listingAfter(variables, { location, env }),
  });
  const remote = new RestoringRemote(native, {
    location,
    env,
    isOurs: (ref) => !isBranchOrTag(mapping?.here(ref) ?? ref),
    onRestored,
  });
  return mapping === undefined ? remote : new MappedRemote(remote, mapping);
}
