import { existsSync } from 'node:fs';
import type { FetchRequest, IncomingObjects, PushRequest, PushResult, Remote, RemoteRef } from '../remote.ts';
import { RemoteUnreachable } from '../remote-errors.ts';
import { GuestFolder } from './guest-folder.ts';
import type { NativeRemote, NativeRemoteOptions } from './native-remote.ts';
import { pushBundle } from './push-bundle.ts';
import { GitFailed } from './run-git.ts';

/** A bundle as a remote: git reads it as any other, and has no way to push to it. */
export class BundleRemote implements Remote {
  readonly name: string;
  readonly url: string;
  readonly isConfigured: boolean;
  readonly #reader: NativeRemote;
  readonly #path: string;
  readonly #options: NativeRemoteOptions;

  /** @param path of the file, absolute; a push makes it where it does not exist */
  constructor(reader: NativeRemote, path: string, options: NativeRemoteOptions) {
    this.name = options.name;
    this.url = options.url;
    this.isConfigured = options.isConfigured;
    this.#reader = reader;
    this.#path = path;
    this.#options = options;
  }

  async list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]> {
    signal?.throwIfAborted();
    return existsSync(this.#path) ? this.#reader.list(patterns, signal) : [];
  }

  fetch(request: FetchRequest): Promise<IncomingObjects> {
    return this.#reader.fetch(request);
  }

  async push(request: PushRequest): Promise<PushResult[]> {
    request.signal?.throwIfAborted();
    if (request.edits.length === 0) return [];
    const folder = await GuestFolder.create(this.#options, []);
    try {
      return await pushBundle(folder, this.#path, request);
    } catch (error) {
      if (!(error instanceof GitFailed)) throw error;
      throw new RemoteUnreachable(this.name, error.said, error);
    } finally {
      folder.remove();
    }
  }
}
