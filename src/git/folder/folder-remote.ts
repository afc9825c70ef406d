import { existsSync } from 'node:fs';
import { UwfError } from '../../errors.ts';
import type { GitEnvironment } from '../git-directory.ts';
import type { GitVariable } from '../native/git-variables.ts';
import { errnoOf } from '../object-errors.ts';
import { BrokenRef } from '../ref-errors.ts';
import { RemoteUnreachable } from '../remote-errors.ts';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from '../remote.ts';
import type { Repository, RepositoryLocation } from '../repository.ts';
import { openPlainFolder } from './plain-folder.ts';
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
    return (await this.#openNative()).list(patterns, signal);
  }

  async fetch(request: FetchRequest): Promise<IncomingObjects> {
    return (await this.#openNative()).fetch(request);
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    request.signal?.throwIfAborted();
    return (await this.#pushHere(request)) ?? (await this.#openNative()).push(request);
  }

  async #pushHere(request: PushRequest): Promise<PushResult[] | undefined> {
    const { path, variables, env } = this.#options;
    const there = this.#isOrdinary() ? openPlainFolder(path, variables, env) : undefined;
    if (there === undefined) return undefined;
    try {
      return await pushIntoFolder(this.#repository.objects, there, request);
    } catch (error) {
      // A ref over there that cannot be read: git has its own words for it.
      if (error instanceof BrokenRef) return undefined;
      if (!(error instanceof Error) || errnoOf(error) === undefined || error instanceof UwfError) throw error;
      throw new RemoteUnreachable(this.name, error.message, error);
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
