import type { Repository } from '../../src/git/repository.ts';
import type { Remote } from '../../src/git/transport/remote.ts';
import type { Cut } from '../helpers/git-http-server.ts';
import type { TemporaryRepository } from '../helpers/temporary-repository.ts';

/** A repository of this machine, and the way from it to the fixture's server. */
export type RemoteSide = {
  repository: Repository;
  remote: Remote;
  /** Every file of the repository and what is kept beside it, by path, for seeing that nothing was left or lost. */
  files(): string[];
  /** Fails unless `git fsck --strict` is content with the repository. */
  expectSound(): void;
};

/** What the contract suite needs of an implementation: a real bare repository, and empty ones that can reach it. */
export type RemoteFixture = {
  server: TemporaryRepository;
  /** What stands for `refs/` in the server's names; absent where the names are the same. */
  refPrefix?: string;
  /** Makes an empty repository with a remote that leads to the server. */
  connect(): Promise<RemoteSide>;
  /** How many times data was asked for or sent since the last call: POST requests, or processes that were connected to. */
  countExchanges(): number;
  /** Breaks the connection at some point; absent where that cannot be arranged. Gives whether the last cut happened. */
  cut?: (cut: Cut | undefined) => void;
  hasCut?: () => boolean;
};

export type CreateRemoteFixture = () => Promise<RemoteFixture>;

/** How many exchanges an operation may take: HTTP needs one for the list of refs and one for the objects. */
export type RemoteCosts = { list: number; fetch: number; push: number };
