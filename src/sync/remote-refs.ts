import type { Remote, RemoteRef } from '../git/remote.ts';

/**
 * All refs that a remote has, by its own word. What it was last seen to have stands in refs of this repository, which others
 * can write: that saves work, and where something could leave the machine for it the remote is asked.
 */
export class RemoteRefs {
  readonly #remote: Pick<Remote, 'list'>;
  readonly #signal: AbortSignal | undefined;
  #said: Promise<RemoteRef[]> | undefined;

  constructor(remote: Pick<Remote, 'list'>, signal?: AbortSignal) {
    this.#remote = remote;
    this.#signal = signal;
  }

  /**
   * Asks the remote, once.
   * @throws {RemoteUnreachable}
   */
  said(): Promise<RemoteRef[]> {
    this.#said ??= this.#remote.list(['refs/*'], this.#signal);
    return this.#said;
  }
}
