// The room git: everything that a repository is. Objects and refs come in to be written and go out as they were read;
// files of a work tree become snapshots and come back; remotes get packs and give them. The door is
// `open-repository.ts`: it gives a `Repository`, whose stores the other rooms use, and no other room runs git or reads
// `.git`. A ref moves only from the value that is expected, so one of two writers fails and knows it. A repository may
// be missing, damaged, of another user, or on a full disk, and a remote may be away: each is an error that names the
// file, the ref or the command of git.

import type { ObjectStore } from './object-store.ts';
import type { RefStore } from './ref-store.ts';

/** Environment variables by name, as `process.env` has them. */
export type GitEnvironment = Readonly<Record<string, string | undefined>>;

/** Where a repository lies on disk; all paths absolute, symbolic links resolved. */
export type RepositoryLocation = {
  /** The repository's own folder: `.git`, `.git/worktrees/<name>`, or the bare folder itself. */
  gitDir: string;
  /** What linked worktrees share: objects, refs, configuration. Equals `gitDir` in a main worktree. */
  commonDir: string;
  /** The top of the work tree; `undefined` in a bare repository. */
  workTree: string | undefined;
};

/** A name and an e-mail address, as commits carry them. */
export type Identity = { name: string; email: string };

/**
 * An open repository: the two stores, and the facts that callers hand to the library.
 *
 * It never changes after it is opened, and holds no lock. The library reads the home directory and the clock only through it.
 */
export interface Repository {
  readonly objects: ObjectStore;
  readonly refs: RefStore;
  /** `undefined` for a repository that is not on a disk of its own (memory, browser). */
  readonly location: RepositoryLocation | undefined;
  /**
   * Machine-local folder for leases, lookups and journals (`<common dir>/uwf`), made when first written;
   * `undefined` where there is no disk. Losing it loses no acknowledged step.
   */
  readonly stateDir: string | undefined;
  /** The committer: the user's git identity, or `uwf <uwf@localhost>`. */
  readonly committer: Identity;
  /** The time in ms since 1970. */
  readonly now: () => number;
  close(): Promise<void>;
}
