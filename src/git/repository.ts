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
