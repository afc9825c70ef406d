import { createHash, type Hash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import { inPlaceOf } from '../../or-else.ts';
import { objectFormatsDiffer, StorageReadOnly } from '../format/errors.ts';
import { isObjectId, type ObjectFormat, type ObjectId } from '../format/object-id.ts';
import { parseRefName } from '../format/refs.ts';
import { isOfRepository, listGitVariables, listingAfter } from '../process/git-variables.ts';
import { GitFailed, type GitPlace, runGit } from '../process/run-git.ts';
import type { GitEnvironment, Repository, RepositoryLocation } from '../repository.ts';
import { rememberVariables } from '../repository/known-variables.ts';
import {
  addressOf,
  bundlePathOf,
  defaultRemote,
  remotesIn,
  remoteUrl,
  withoutPassword,
} from '../repository/own-programs.ts';
import { objectFolderOf, objectsApart } from '../stores/quarantine.ts';
import { fetchWhatCanBe, findUnsound, incomingObjects, landingOf, listByPrefix, withoutUnsound } from './fetch-refs.ts';
import {
  isOfOtherFormat,
  listRemoteRefs,
  lostTipIn,
  matcherOf,
  noSuchRemote,
  RemotesNeedDisk,
  RemoteUnreachable,
} from './git-output.ts';
import { GuestFolder, type GuestOf, incomingFolder } from './guest-folder.ts';
import { pushBundle, pushRefs } from './push-refs.ts';
import {
  type FetchRequest,
  type IncomingObjects,
  isBranchOrTag,
  type PushEdit,
  type PushRequest,
  type PushResult,
  type RefMapping,
  refMappingOf,
  refusalIn,
  type Remote,
  type RemoteRef,
} from './remote.ts';

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

/**
 * A remote whose refs have other names than here. Its callers know only the names here; the reasons of refused edits have the
 * remote's words, and so its names.
 */
class MappedRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly refPrefix: string;
  readonly #remote: Remote;
  readonly #mapping: RefMapping;

  constructor(remote: Remote, mapping: RefMapping) {
    this.name = remote.name;
    this.url = remote.url;
    this.isConfigured = remote.isConfigured;
    this.refPrefix = mapping.prefix;
    this.#remote = remote;
    this.#mapping = mapping;
  }

  async list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    return this.#namedHere(await this.#remote.list(this.#patternsThere(patterns), signal), patterns);
  }

  async fetch(request: FetchRequest): Promise<IncomingObjects> {
    const { refs, except = [], known = [] } = request;
    const incoming = await this.#remote.fetch({
      ...request,
      refs: this.#patternsThere(refs),
      except: except.map((name) => this.#mapping.there(name)),
      known: known.map(({ name, id }) => ({ name: this.#mapping.there(name), id })),
    });
    return { ...incoming, refs: this.#namedHere(incoming.refs, refs) };
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    const edits = request.edits.map((edit) => ({ ...edit, name: this.#mapping.refThere(edit.name) }));
    const there = request.there?.map(({ name, id }) => ({ name: this.#mapping.there(name), id }));
    const results = await this.#remote.push({ ...request, edits, there });
    const names = new Map(request.edits.map(({ name }, at) => [edits[at]?.name, name]));
    return results.map((result) => ({ ...result, name: names.get(result.name) ?? result.name }));
  }

  #patternsThere(patterns: readonly string[]): string[] {
    return [...new Set(patterns.flatMap((pattern) => this.#mapping.patternsThere(pattern)))];
  }

  #namedHere(refs: readonly RemoteRef[], patterns: readonly string[]): RemoteRef[] {
    const isWanted = matcherOf(patterns);
    return refs.flatMap(({ name, id }) => {
      const here = this.#mapping.here(name);
      return here !== undefined && isWanted(here) ? [{ name: here, id }] : [];
    });
  }
}

/** What sending lost objects again needs. */
type RestoringOptions = {
  /** The repository that may have the objects. */
  location: RepositoryLocation;
  env: GitEnvironment;
  /** Tells whether a ref of the remote is uwf's, by its name there. */
  isOurs: (name: string) => boolean;
  /** Called for each ref whose objects were sent again. */
  onRestored?: ((name: string) => void) | undefined;
};

/**
 * A remote that gets back what it has lost.
 *
 * `git gc --prune=now` at a remote removes the objects of a push that is under way. The ref then leads to a missing commit, and
 * git takes no push at all to that remote, only deletions. Where the commit is here, the ref is deleted under its value and
 * pushed again, so that nothing is lost that another clone has published meanwhile. What is killed in between leaves it deleted: a
 * fetch then names it as gone there, and a push that names it sends it.
 * Source: `check_connected` in git's connected.c, which no deletion passes through.
 */
class RestoringRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #remote: Remote;
  readonly #options: RestoringOptions;

  constructor(remote: Remote, options: RestoringOptions) {
    this.name = remote.name;
    this.url = remote.url;
    this.isConfigured = remote.isConfigured;
    this.#remote = remote;
    this.#options = options;
  }

  list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    return this.#remote.list(patterns, signal);
  }

  fetch(request: FetchRequest): Promise<IncomingObjects> {
    return this.#remote.fetch(request);
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    const { signal } = request;
    const tried = new Set<string>();
    for (;;) {
      const results = await this.#remote.push(request);
      let lost = lostIn(results);
      if (lost === undefined) return results;
      const owed: PushEdit[] = [];
      while (lost !== undefined) {
        const taken: PushEdit[] | undefined = tried.has(lost) ? undefined : await this.#takeOut(lost, signal);
        tried.add(lost);
        if (taken === undefined) return this.#explained(results, lost, owed);
        owed.push(...taken);
        const again: PushResult[] =
          owed.length === 0 ? [] : await this.#remote.push({ edits: owed, isForward: true, signal });
        lost = lostIn(again);
        const refusal = refusalIn(again);
        if (lost === undefined && refusal !== undefined) return this.#explained(results, refusal, owed);
        for (const { name, outcome } of again) if (outcome === 'done') this.#options.onRestored?.(name);
      }
    }
  }

  /**
   * Deletes a lost ref there, if all it led to is here.
   * @param lost its name, or the commit
   * @returns what brings it back: nothing where another clone is doing the same; `undefined` if it was not deleted
   */
  async #takeOut(lost: string, signal: AbortSignal | undefined): Promise<PushEdit[] | undefined> {
    const listed = await this.#remote.list([isObjectId(lost) ? 'refs/*' : lost], signal);
    const ref = listed.find(({ name, id }) => name === lost || id === lost);
    if (ref === undefined) return [];
    if (!this.isConfigured || !this.#options.isOurs(ref.name) || !(await this.#isWhole(ref.id))) return undefined;
    const name = parseRefName(ref.name);
    const deletion = { name, value: null, expected: ref.id };
    const [result] = await this.#remote.push({ edits: [deletion], isForward: true, signal });
    if (result?.outcome === 'done') return [{ name, value: ref.id, expected: null }];
    return result?.outcome === 'moved' ? [] : undefined;
  }

  /** Tells whether a commit is here with everything it leads to. */
  async #isWhole(id: ObjectId): Promise<boolean> {
    const { location, env } = this.#options;
    const args = ['rev-list', '--objects', '--quiet', id, '--not', '--all'];
    return runGit({ location, env, args }).then(() => true, inPlaceOf(GitFailed, false));
  }

  #explained(results: readonly PushResult[], lost: string, owed: readonly PushEdit[]): PushResult[] {
    const remote = this.name;
    const isRef = lost.startsWith('refs/') || isObjectId(lost);
    const what = isRef
      ? `${remote} has lost the commit of ${lost}, and takes no push before a clone that has it pushes, ` +
        `or the ref is removed: git push ${remote} :${lost}`
      : `${remote} had lost commits, and does not take them again: ${lost}`;
    const names = owed.map(({ name }) => name).join(', ');
    const reason = names === '' ? what : `${what}; then push what is missing there: ${names}`;
    return results.map((result) => (result.outcome === 'refused' ? { ...result, reason } : result));
  }
}

function lostIn(results: readonly PushResult[]): string | undefined {
  for (const result of results) {
    const lost = result.outcome === 'refused' ? lostTipIn(result.reason) : undefined;
    if (lost !== undefined) return lost;
  }
  return undefined;
}

/** What a fetch copies: a name or a pattern of refs as they are called here, and the refs that get them. */
export type FetchedRefs = { source: string; target: string };

/**
 * Adds forced fetch refspecs to a remote, with the names that the refs have there, and changes nothing else in git's
 * configuration.
 * @returns the refspecs that were new
 * @throws {UwfError} `no-such-remote` if git knows no remote of this name; nothing is written then
 * @throws {UwfError} `partial-clone` if git leaves out contents of what it fetches from it
 */
export async function addFetchRefspecs(git: GitPlace, remote: string, refs: readonly FetchedRefs[]): Promise<string[]> {
  const variables = await listGitVariables(git);
  const known = remotesIn(variables);
  if (!known.includes(remote)) throw noSuchRemote(remote, known);
  if (variables.some(({ name }) => name === `remote.${remote}.partialclonefilter`)) {
    throw new UwfError(`of what git fetches from ${remote} it leaves contents out, those of threads too`, {
      code: 'partial-clone',
      kind: 'usage',
      hint: `'uwf fetch ${remote}' brings threads whole`,
      facts: { remote },
    });
  }
  const mapping = refMappingOf(variables, remote);
  const key = `remote.${remote}.fetch`;
  const present = new Set(variables.filter(({ name }) => name === key).map(({ value }) => value));
  const missing = refs
    .map(({ source, target }) => `+${mapping?.there(source) ?? source}:${target}`)
    .filter((refspec) => !present.has(refspec));
  for (const refspec of missing) await runGit({ ...git, args: ['config', '--local', '--add', key, refspec] });
  return missing;
}

/**
 * The transports that git allows by default. They replace what the repository's own configuration allows, which is not its
 * decision.
 * Source: git-config(1), `protocol.allow`.
 */
const byDefault = { GIT_ALLOW_PROTOCOL: 'http:https:git:ssh:file' };

type NativeRemoteOptions = Pick<Remote, 'name' | 'url' | 'isConfigured'> &
  GuestOf & {
    /** The argument for git: the name, or the URL or path as it was typed. */
    address: string;
    mayAsk: boolean;
    isPartial: boolean;
    /** The absolute path of a bundle, which git reads like other remotes, but cannot push to; a push can make the file. */
    bundle: string | undefined;
  };

/**
 * A remote that git reaches: ssh, https with the user's credential helpers, a folder, a bundle.
 *
 * Objects are fetched into a guest folder and pushed from one; git never writes into the repository. Memory is bounded,
 * because objects go to the disk as they come.
 */
class NativeRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #repository: Repository;
  readonly #options: NativeRemoteOptions;

  constructor(repository: Repository, options: NativeRemoteOptions) {
    this.name = options.name;
    this.url = options.url;
    this.isConfigured = options.isConfigured;
    this.#repository = repository;
    this.#options = options;
  }

  async list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    const { location, env, mayAsk, address, bundle, listVariables } = this.#options;
    signal?.throwIfAborted();
    if (bundle !== undefined && !existsSync(bundle)) return [];
    const isWidened = (await listVariables()).some((set) => isOfRepository(set) && set.name.startsWith('protocol.'));
    const run = { location, env: isWidened ? { ...byDefault, ...env } : env, mayAsk, signal };
    return this.#reach(
      async () => (await this.#listByPrefix(patterns, signal)) ?? listRemoteRefs(run, address, patterns),
    );
  }

  async #listByPrefix(patterns: readonly string[], signal: AbortSignal | undefined): Promise<RemoteRef[] | undefined> {
    const { address, bundle, mayAsk } = this.#options;
    if (bundle !== undefined || patterns.length === 0) return undefined;
    // A repository that can only be read can still look at a remote.
    const folder = await GuestFolder.create(this.#options, []).catch(inPlaceOf(StorageReadOnly, undefined));
    try {
      return folder && (await listByPrefix(folder, address, patterns, { mayAsk, isLocal: isFolder(this.url), signal }));
    } finally {
      folder?.remove();
    }
  }

  async fetch(request: FetchRequest): Promise<IncomingObjects> {
    request.signal?.throwIfAborted();
    const { location, env, stateDir, address, mayAsk, isPartial } = this.#options;
    // The targets of the repository's refs, whose objects are complete.
    const has = new Set((await this.#repository.refs.list('refs/')).map(({ id }) => id));
    // They are refs with arbitrary names, for the negotiation.
    const seeds = [...has].map((id, at) => ({ name: `refs/local/${String(at).padStart(9, '0')}`, id }));
    const folder = await GuestFolder.create(this.#options, [...seeds, ...knownSeeds(request, has)]);
    try {
      const control = { mayAsk, isLocal: isFolder(this.url), ...(request.ids && { ids: request.ids }) };
      const refs = await this.#reach(() => fetchWhatCanBe(folder, address, request, control));
      const here = this.#repository.objects;
      const unsound = await findUnsound(folder);
      const objects = withoutUnsound(objectsApart(here, folder.location, folder.env), unsound, here);
      const objectFolder = objectFolderOf(location, env);
      const destination = { objectFolder, parent: incomingFolder(stateDir), has: [...has], isPartial };
      return incomingObjects({ refs, objects }, folder, destination);
    } catch (error) {
      folder.remove();
      throw error;
    }
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    request.signal?.throwIfAborted();
    if (request.edits.length === 0) return [];
    const folder = await GuestFolder.create(this.#options, []);
    try {
      return await this.#reach(() => this.#pushFrom(folder, request));
    } finally {
      folder.remove();
    }
  }

  async #pushFrom(folder: GuestFolder, request: PushRequest): Promise<PushResult[]> {
    const { address, bundle, mayAsk, isConfigured } = this.#options;
    const has = (id: ObjectId): Promise<boolean> => this.#repository.objects.has(id);
    if (bundle === undefined) return pushRefs(folder, this.#options, address, request, { mayAsk, isConfigured, has });
    return pushBundle(folder, bundle, request);
  }

  /** git does not distinguish a missing remote from one that does not answer; the error has its words. */
  async #reach<T>(connect: () => Promise<T>): Promise<T> {
    const { bundle, format } = this.#options;
    if (bundle !== undefined && existsSync(bundle)) {
      await assertWholeBundle(bundle, this.name, format);
    }
    try {
      return await connect();
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      if (isOfOtherFormat(error)) throw objectFormatsDiffer(this.name, format);
      throw new RemoteUnreachable(this.name, error.said, error);
    }
  }
}

/** Tells whether a URL is a folder of this machine, where git runs the other side too. */
function isFolder(url: string): boolean {
  return url.startsWith('file://') || !/^(?:[A-Za-z0-9+.-]+::?|[^/]+:)/.test(url);
}

/** The known refs of the remote whose objects are here, under the names of the fetch, so that git sees what has changed. */
function knownSeeds({ known = [] }: FetchRequest, has: ReadonlySet<RemoteRef['id']>): RemoteRef[] {
  return known.flatMap(({ name, id }) => {
    const landing = landingOf(name);
    return landing !== undefined && has.has(id) ? [{ name: landing, id }] : [];
  });
}

/**
 * Compares the pack of a bundle with the checksum that it ends with. `git bundle verify` does not, and git reads no more than
 * the list of refs where it has their commits, so that a backup which was cut off would look up to date.
 * @param path a file that begins as a bundle does
 * @param name how the user names it
 * @param format that of the repository; of a bundle of the other one, git says that it is corrupt
 * @throws {UwfError} `bundle-damaged`, `object-formats-differ`
 * Source: gitformat-bundle(5), gitformat-pack(5).
 */
async function assertWholeBundle(path: string, name: string, format: ObjectFormat): Promise<void> {
  let header: Buffer = Buffer.alloc(0);
  let hash: Hash | undefined;
  let bytes = 20;
  let end: Buffer = Buffer.alloc(0);
  // Without an encoding, a file is read as buffers.
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let read = chunk;
    if (hash === undefined) {
      header = Buffer.concat([header, chunk]);
      const length = header.indexOf('\n\n');
      if (length === -1) continue;
      const isLong = header.subarray(0, length).includes('\n@object-format=sha256\n');
      if (isLong !== (format === 'sha256')) throw objectFormatsDiffer(name, format);
      hash = createHash(format);
      bytes = isLong ? 32 : 20;
      read = header.subarray(length + 2);
    }
    const unhashed = Buffer.concat([end, read]);
    const cut = Math.max(0, unhashed.length - bytes);
    hash.update(unhashed.subarray(0, cut));
    end = unhashed.subarray(cut);
  }
  if (hash?.digest().equals(end) === true) return;
  throw new UwfError(`the bundle ${name} is damaged or incomplete: its checksum is wrong`, {
    code: 'bundle-damaged',
    kind: 'data',
    hint: `copy it again from where it was made; or remove it, and 'uwf push ${path}' writes a new one from what is here`,
    facts: { remote: name },
  });
}
