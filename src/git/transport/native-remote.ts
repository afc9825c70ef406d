import { createHash, type Hash } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import { inPlaceOf } from '../../or-else.ts';
import { objectFormatsDiffer, StorageReadOnly } from '../format/object-errors.ts';
import type { ObjectFormat, ObjectId } from '../format/object-id.ts';
import { isOfRepository } from '../process/git-variables.ts';
import { GitFailed } from '../process/run-git.ts';
import type { Repository } from '../repository.ts';
import { objectFolderOf, objectsApart } from '../stores/quarantine.ts';
import { fetchWhatCanBe, findUnsound, incomingObjects, landingOf, listByPrefix, withoutUnsound } from './fetch-refs.ts';
import { isOfOtherFormat, listRemoteRefs, RemoteUnreachable } from './git-output.ts';
import { GuestFolder, type GuestOf, incomingFolder } from './guest-folder.ts';
import { pushBundle, pushRefs } from './push-refs.ts';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from './remote.ts';

/**
 * The transports that git allows by default. They replace what the repository's own configuration allows, which is not its
 * decision.
 * Source: git-config(1), `protocol.allow`.
 */
const byDefault = { GIT_ALLOW_PROTOCOL: 'http:https:git:ssh:file' };

/** Which remote, and from where. */
type NativeRemoteOptions = Pick<Remote, 'name' | 'url' | 'isConfigured'> &
  GuestOf & {
    /** The argument for git: the name, or the URL or path as it was typed. */
    address: string;
    /** Whether git may ask a person at the terminal. */
    mayAsk: boolean;
    /** Whether the repository is a partial clone. */
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
export class NativeRemote implements Remote {
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
 *
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
