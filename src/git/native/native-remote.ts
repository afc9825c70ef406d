import { join } from 'node:path';
import { DiskObjectStore } from '../disk/disk-object-store.ts';
import type { ObjectStore } from '../object-store.ts';
import { NoRemoteToReturnTo, RemoteUnreachable } from '../remote-errors.ts';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from '../remote.ts';
import type { Repository } from '../repository.ts';
import { fetchObjects } from './fetch-objects.ts';
import { landingOf } from './fetch-refs.ts';
import { fetchWhatCanBe } from './fetch-what-can-be.ts';
import { isOfRepository, listGitVariables } from './git-variables.ts';
import { GuestFolder, incomingFolder, type GuestOf } from './guest-folder.ts';
import { listRemoteRefs } from './list-remote-refs.ts';
import { NativeIncoming, type Promisor } from './native-incoming.ts';
import { NativeObjectStore } from './native-object-store.ts';
import { pushRefs } from './push-refs.ts';
import { GitFailed, runGit } from './run-git.ts';

/**
 * Leaves out nothing that git can hold, so that what the user fetches otherwise goes on being whole.
 *
 * Source: `partial_clone_register` in git's list-objects-filter-options.c, which keeps a filter that is there; a git that
 * cannot count so far passes over it.
 */
const filterOfNothing = 'blob:limit=1024g';

/**
 * What git allows by default. Where a repository's configuration says something of transports, this holds instead: it is
 * not the repository's to say.
 * Source: git-config(1), `protocol.allow`.
 */
const byDefault = { GIT_ALLOW_PROTOCOL: 'http:https:git:ssh:file' };

/** Which remote, and from where. */
export type NativeRemoteOptions = Pick<Remote, 'name' | 'url' | 'isConfigured'> &
  GuestOf & {
    /** What git is given to find it: the name, or the URL or path as it was typed. */
    address: string;
    /** Whether git may ask a person at the terminal. */
    mayAsk: boolean;
  };

/**
 * A remote as git itself reaches it: ssh, https with the user's credential helpers, a folder, a bundle.
 *
 * Objects come into a guest folder and leave through one; git never writes into the repository. Memory is bounded
 * whatever is sent: objects go to the disk as they come.
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
    const { location, env, mayAsk, address, listVariables } = this.#options;
    const isWidened = (await listVariables()).some((set) => isOfRepository(set) && set.name.startsWith('protocol.'));
    const run = { location, env: isWidened ? { ...byDefault, ...env } : env, mayAsk, ...(signal && { signal }) };
    return this.#reach(() => listRemoteRefs(run, address, patterns));
  }

  async fetch(request: FetchRequest): Promise<IncomingObjects> {
    request.signal?.throwIfAborted();
    const { location, env, stateDir, address, mayAsk } = this.#options;
    if (request.withoutContents && !this.isConfigured) throw new NoRemoteToReturnTo(this.name);
    const has = await this.#tips();
    const folder = await GuestFolder.create(this.#options, [...localSeeds(has), ...knownSeeds(request, has)]);
    try {
      let isLight = request.withoutContents === true;
      const onProgress = (line: string): void => {
        // Git says so and fetches everything: nothing is promised then. Source: `fetch_pack_config` in git's fetch-pack.c.
        if (line.startsWith('warning: filtering not recognized by server')) isLight = false;
        request.onProgress?.(line);
      };
      const watched = isLight ? { ...request, onProgress } : request;
      const refs = await this.#reach(() =>
        fetchWhatCanBe(folder, address, watched, { mayAsk, isLocal: isFolder(this.url) }),
      );
      const objects = this.#readerOf(folder);
      const objectFolder = env['GIT_OBJECT_DIRECTORY'] || join(location.commonDir, 'objects');
      const destination = { objectFolder, parent: incomingFolder(stateDir), env, has: [...has] };
      const promisor = isLight ? { promisor: this.#promisorFor(folder, request) } : {};
      return new NativeIncoming({ refs, objects }, folder, { ...destination, ...promisor });
    } catch (error) {
      folder.remove();
      throw error;
    }
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    request.signal?.throwIfAborted();
    if (request.edits.length === 0) return [];
    const { address, mayAsk } = this.#options;
    const folder = await GuestFolder.create(this.#options, []);
    try {
      return await this.#reach(() => pushRefs(folder, this.#options, address, request, mayAsk));
    } finally {
      folder.remove();
    }
  }

  #promisorFor(folder: GuestFolder, { signal }: FetchRequest): Promisor {
    const { location, env, address, mayAsk } = this.#options;
    return {
      bring: (ids) =>
        this.#reach(() => fetchObjects({ ...folder.run([]), mayAsk, ...(signal && { signal }) }, address, ids)),
      remember: async () => {
        const set = (key: string, value: string): Promise<unknown> =>
          runGit({ location, env, args: ['config', '--local', `remote.${this.name}.${key}`, value] });
        const settings = await listGitVariables(location, env);
        const filter = `remote.${this.name}.partialclonefilter`;
        // Where there is no filter, git's first fetch of a missing object would set one that leaves out all contents.
        if (!settings.some(({ name }) => name === filter)) await set('partialclonefilter', filterOfNothing);
        await set('promisor', 'true');
      },
    };
  }

  /** Reads what has come, then what the repository has: it may know how to get what a remote has promised it. */
  #readerOf({ location, path, env }: GuestFolder): Pick<ObjectStore, 'read' | 'has' | 'close'> {
    const { objects } = this.#repository;
    const { format } = this.#options;
    const brought = format === 'sha1' ? new DiskObjectStore(path, {}) : new NativeObjectStore(location, env, format);
    return {
      read: async (id, options) => (await brought.read(id, options)) ?? objects.read(id, options),
      has: async (id) => (await brought.has(id)) || objects.has(id),
      close: () => brought.close(),
    };
  }

  /** What the repository's refs lead to: what follows from it is there, and stays there. */
  async #tips(): Promise<Set<RemoteRef['id']>> {
    return new Set((await this.#repository.refs.list('refs/')).map(({ id }) => id));
  }

  /** git cannot tell a remote that does not exist from one that does not answer; it says what it knows. */
  async #reach<T>(connect: () => Promise<T>): Promise<T> {
    try {
      return await connect();
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      throw new RemoteUnreachable(this.name, error.said, error);
    }
  }
}

/** Whether a URL is that of a folder of this machine, whose other side git starts itself. */
function isFolder(url: string): boolean {
  return url.startsWith('file://') || !/^(?:[A-Za-z0-9+.-]+::?|[^/]+:)/.test(url);
}

/** Local commits, under names that only say that they are there. */
function localSeeds(has: ReadonlySet<RemoteRef['id']>): RemoteRef[] {
  return [...has].map((id, at) => ({ name: `refs/local/${String(at).padStart(9, '0')}`, id }));
}

/** What the remote had, so far as it is here, where git will look for what has changed. */
function knownSeeds({ known = [] }: FetchRequest, has: ReadonlySet<RemoteRef['id']>): RemoteRef[] {
  return known.flatMap(({ name, id }) => {
    const landing = landingOf(name);
    return landing !== undefined && has.has(id) ? [{ name: landing, id }] : [];
  });
}
