import { join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { errnoOf } from '../object-errors.ts';
import { RemoteUnreachable } from '../remote-errors.ts';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from '../remote.ts';
import type { Repository } from '../repository.ts';
import { readAdvertisement } from './advertisement.ts';
import { BrokenAnswer } from './broken-answer.ts';
import { fetchObjects } from './fetch-objects.ts';
import { HttpConnection } from './http-connection.ts';
import type { AskForCredentials, BasicCredentials } from './http-connection.ts';
import { limitsInMemory, limitsOnDisk, type IncomingLimits } from './incoming-limits.ts';
import { LightFetchNeedsGit } from './light-fetch-needs-git.ts';
import type { Spool } from './pack-bytes.ts';
import { PacketReader } from './pkt-line.ts';
import { pushEdits } from './push-edits.ts';
import { refMatcher } from './ref-pattern.ts';
import { splitCredentials } from './remote-url.ts';

/** Which remote, and how it is reached. */
export type HttpRemoteOptions = {
  /** As the user called it: a name in git's configuration, or the URL. */
  name: string;
  /** `http:` or `https:`; user name and password in it are used, and not shown. */
  url: string;
  isConfigured: boolean;
  /** Asked when the server wants credentials and the URL has none that it takes. */
  onAuth?: AskForCredentials;
  /** What a fetch takes in; default: {@link limitsOnDisk}, or {@link limitsInMemory} for a repository without a disk. */
  limits?: Partial<IncomingLimits>;
  /** How long nothing may come or go before the connection counts as broken; default: 2 min. */
  idleTimeoutMs?: number;
};

/**
 * Reaches another repository over smart HTTP in this process, for where there is no git. Nothing is asked before one of
 * its methods is called.
 */
export function openHttpRemote(repository: Repository, options: HttpRemoteOptions): Remote {
  return new HttpRemote(repository, options);
}

class HttpRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #repository: Repository;
  readonly #credentials: BasicCredentials | undefined;
  readonly #options: HttpRemoteOptions;
  readonly #spool: Spool;

  constructor(repository: Repository, options: HttpRemoteOptions) {
    const { url, credentials } = splitCredentials(options.url);
    this.name = options.name === options.url ? url : options.name;
    this.url = url;
    this.isConfigured = options.isConfigured;
    this.#repository = repository;
    this.#credentials = credentials;
    this.#options = options;
    this.#spool = { folder: repository.stateDir && join(repository.stateDir, 'incoming') };
  }

  async list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    return this.#connected(signal, async (connection) => {
      const isAskedFor = refMatcher(patterns);
      const refs: RemoteRef[] = [];
      const packets = new PacketReader(await connection.list('git-upload-pack'));
      await readAdvertisement(packets, 'git-upload-pack', (ref) => {
        if (isAskedFor(ref.name)) refs.push(ref);
      });
      return refs;
    });
  }

  async fetch(request: FetchRequest): Promise<IncomingObjects> {
    if (request.withoutContents === true) throw new LightFetchNeedsGit(this.name);
    const limits = { ...(this.#spool.folder === undefined ? limitsInMemory : limitsOnDisk), ...this.#options.limits };
    if (request.maxObjectBytes !== undefined) {
      limits.objectBytes = Math.min(limits.objectBytes, request.maxObjectBytes);
    }
    return this.#connected(request.signal, (connection) =>
      fetchObjects({ repository: this.#repository, connection, limits, spool: this.#spool }, request),
    );
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    return this.#connected(request.signal, (connection) =>
      pushEdits({ repository: this.#repository, connection, spool: this.#spool }, request),
    );
  }

  /** What the network and the other side do wrong becomes one error; what is uwf's own comes through. */
  async #connected<T>(signal: AbortSignal | undefined, talk: (connection: HttpConnection) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const { onAuth, idleTimeoutMs } = this.#options;
    const connection = new HttpConnection(this.url, { credentials: this.#credentials, onAuth, signal, idleTimeoutMs });
    try {
      return await talk(connection);
    } catch (error) {
      signal?.throwIfAborted();
      const code = errnoOf(error);
      if (error instanceof UwfError || !(error instanceof BrokenAnswer || code !== undefined)) throw error;
      throw new RemoteUnreachable(this.name, wordsFor(error, code), error);
    } finally {
      connection.close();
    }
  }
}

function wordsFor(error: unknown, code: string | undefined): string {
  // Node says 'aborted' of a connection that the other side closed.
  if (code === 'ECONNRESET') return 'the connection broke';
  return (error instanceof Error && error.message) || String(code);
}
