import type { ObjectId } from '../format/object-id.ts';
import type { ObjectStore, WrittenObjects } from '../object-store.ts';
import type { RefName } from '../ref-store.ts';

/** A ref of a remote. Its name is not checked. */
export type RemoteRef = { name: string; id: ObjectId };

/** What is asked of one fetch. */
export type FetchRequest = {
  /** Names of the remote's refs, or patterns with one `*` at the end: `refs/threads/*`. */
  refs: readonly string[];
  /** Commits to fetch in place of refs. The remote may refuse one that none of its refs is at. */
  ids?: readonly ObjectId[] | undefined;
  /** Names that the patterns above do not include. */
  except?: readonly string[] | undefined;
  /** The last known refs of the remote, under its own names; unchanged refs cost nothing. */
  known?: readonly RemoteRef[];
  /** Ends the fetch when aborted, without leftovers. */
  signal?: AbortSignal | undefined;
  /** Receives the progress of git, a line at a time. */
  onProgress?: ((line: string) => void) | undefined;
};

/**
 * Fetched objects, apart from the repository until they are accepted: no ref leads to them, git does not see them there, and
 * discarding them leaves no trace.
 */
export interface IncomingObjects {
  /** All requested refs of the remote, also unchanged ones, in the order of the remote. */
  readonly refs: readonly RemoteRef[];
  /** Reads fetched objects and those of the repository. */
  readonly objects: Pick<ObjectStore, 'read' | 'has'>;
  /**
   * Whether files of the user's code may have stayed away, because the repository is a partial clone: the remote takes
   * everything behind a commit that is here for present.
   */
  readonly mayLackFiles?: boolean;
  /**
   * Moves exactly the objects of these commits into the repository, durable, and protected from a concurrent `git gc` until
   * they are released. Call it once.
   * @throws {StorageFull} / {StorageReadOnly}
   */
  accept(tips: readonly ObjectId[]): Promise<WrittenObjects>;
  /** Removes everything that was not accepted; calling it twice is harmless. */
  discard(): Promise<void>;
}

/**
 * One change of one of the remote's refs. Never forced: `value` has to follow what the remote has.
 *
 * `expected` absent: any value that `value` follows. `expected: null`: the remote must not have the ref.
 * `value: null` deletes it, and needs `expected`. The value that is expected already makes sure that the ref is there.
 */
export type PushEdit = {
  name: RefName;
  value: ObjectId | null;
  expected?: ObjectId | null;
  /**
   * Where refs are kept before this one is deleted: what it is moved to meanwhile, so that another client which moves it in
   * between is noticed by the remote itself. It follows `expected`.
   */
  via?: ObjectId;
};

/** What is asked of one push. */
export type PushRequest = {
  edits: readonly PushEdit[];
  /** The refs of the remote as they were just listed: with them many deletions in one folder of refs cost little. */
  there?: readonly RemoteRef[] | undefined;
  /** The caller has checked that each value follows the expected one; otherwise the push checks it. */
  isForward?: boolean;
  signal?: AbortSignal | undefined;
  onProgress?: ((line: string) => void) | undefined;
};

/**
 * The outcome of one edit. `unchanged`: the ref had the value already, whatever was expected. `moved`: the remote's ref did
 * not have the expected value, or `value` does not follow it. `refused`: the remote does not allow it (a hook, a protected
 * name). `undone`: possible, but not made because another edit of the same push failed.
 */
export type PushResult = { name: RefName } & PushOutcome;

export type PushOutcome =
  | { outcome: 'done' | 'unchanged' }
  | { outcome: 'moved' | 'refused' | 'undone'; reason: string };

/** Tells whether the remote has what an edit asked for. */
export function isDone(outcome: PushOutcome['outcome'] | undefined): boolean {
  return outcome === 'done' || outcome === 'unchanged';
}

/** Why the remote does not allow an edit of a push; `undefined` if it allows all. */
export function refusalIn(results: readonly PushResult[]): string | undefined {
  const refused = results.find((result) => result.outcome === 'refused');
  return refused?.outcome === 'refused' ? refused.reason : undefined;
}

/**
 * Another repository that can be reached from this one.
 *
 * git reaches it: ssh, https with credential helpers, a folder, a bundle. Every kind passes `test/contracts/remote.ts`. Each
 * method makes one connection, but for a push that also deletes.
 */
export interface Remote {
  /** As the user named it: a name in git's configuration, a URL, a path. */
  readonly name: string;
  /** Its URL or path, without a password. */
  readonly url: string;
  /** True if git's configuration names it, so that its refs are remembered between commands. */
  readonly isConfigured: boolean;
  /**
   * The prefix that refs other than branches and tags have at the remote: `refs/heads/uwf/`. All names of this interface are
   * those without it. Absent: the remote has the same names.
   */
  readonly refPrefix?: string;

  /**
   * Lists refs without fetching objects. Patterns as in {@link FetchRequest.refs}; a server that can sends only the refs that match
   * one, so that a list of few refs of a remote with many is cheap.
   */
  list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]>;

  /**
   * Fetches the objects of the refs that the repository does not have.
   * @throws {RemoteUnreachable} if there is no connection, it broke, or was refused; nothing is left behind
   */
  fetch(request: FetchRequest): Promise<IncomingObjects>;

  /**
   * Makes all edits or none if the remote is able to, otherwise one after the other. What it deletes is deleted after all else
   * was made, in a connection of its own: a remote can refuse the rest of an atomic push and make the deletions.
   * @returns a result for each edit, in their order
   * @throws {RemoteUnreachable} if the outcome is unknown
   */
  push(request: PushRequest): Promise<PushResult[]>;
}
