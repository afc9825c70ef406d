import { existsSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import type { GitEnvironment } from '../git-directory.ts';
import type { GitVariable } from '../native/git-variables.ts';
import { errnoOf, StorageReadOnly } from '../object-errors.ts';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from '../remote.ts';
import type { Repository, RepositoryLocation } from '../repository.ts';
import { openPlainFolder, removeStaleLocksIn } from './plain-folder.ts';
import { pushIntoFolder } from './push-into-folder.ts';

/** A folder of this machine as a remote, and from where. */
export type FolderRemoteOptions = Pick<Remote, 'name' | 'url' | 'isConfigured'> & {
  /** Where a push goes; absolute. */
  path: string;
  /** What git calls it: the name in its configuration, or the path as it was typed. */
  address: string;
  location: RepositoryLocation;
  env: GitEnvironment;
  variables: readonly GitVariable[];
};

/**
 * A repository in a folder of this machine.
 *
 * What a push brings into an ordinary one is written in this process, durable as everything that uwf writes, and in less
 * time than it takes to start the programs by which git does it. Everything else is git's: what is fetched has to be
 * looked at before it comes near, and a repository with hooks or settings for who pushes has to see who comes.
 */
export class FolderRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #repository: Repository;
  readonly #options: FolderRemoteOptions;
  readonly #openNative: () => Promise<Remote>;

  constructor(repository: Repository, options: FolderRemoteOptions, openNative: () => Promise<Remote>) {
    this.name = options.name;
    this.url = options.url;
    this.isConfigured = options.isConfigured;
    this.#repository = repository;
    this.#options = options;
    this.#openNative = openNative;
  }

  async list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    return (await this.#byGit()).list(patterns, signal);
  }

  async fetch(request: FetchRequest): Promise<IncomingObjects> {
    return (await this.#byGit()).fetch(request);
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    request.signal?.throwIfAborted();
    return (await this.#pushHere(request)) ?? (await this.#byGit()).push(request);
  }

  /** Locks that are held by nobody any more must not stop git. */
  async #byGit(): Promise<Remote> {
    await removeStaleLocksIn(this.#options.path);
    return this.#openNative();
  }

  async #pushHere(request: PushRequest): Promise<PushResult[] | undefined> {
    const { path, variables, env } = this.#options;
    const names = request.edits.map(({ name }) => name);
    const there = this.#isOrdinary() ? openPlainFolder({ path, names, variables, env }) : undefined;
    if (there === undefined) return undefined;
    try {
      return await pushIntoFolder(this.#repository.objects, there, request);
    } catch (error) {
      // What is broken on either side, or cannot be written: git has its own words for it, or another way.
      const isOfData = error instanceof UwfError && (error.kind === 'data' || error instanceof StorageReadOnly);
      if (isOfData || (!(error instanceof UwfError) && errnoOf(error) !== undefined)) return undefined;
      throw error;
    } finally {
      await there.close();
    }
  }

  /** Whether all that git would start from here is whole, and goes to this one place. */
  #isOrdinary(): boolean {
    const { variables, address, location } = this.#options;
    const of = (key: string): number => variables.filter(({ name }) => name === `remote.${address}.${key}`).length;
    if (of('url') > 1 || of('pushurl') > 1 || of('receivepack') > 0 || of('vcs') > 0) return false;
    return this.#repository.objects.format === 'sha1' && !existsSync(`${location.commonDir}/shallow`);
  }
}
