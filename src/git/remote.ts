import type { ObjectId } from './object-id.ts';
import type { ObjectStore, WrittenObjects } from './object-store.ts';
import type { RefName } from './ref-store.ts';

/** A ref as a remote tells of it. The name comes from elsewhere: nothing about it has been checked. */
export type RemoteRef = { name: string; id: ObjectId };

/** What is asked of one fetch. */
export type FetchRequest = {
  /** Names of the remote's refs, or patterns with one `*` at the end: `refs/threads/*`. */
  refs: readonly string[];
  /** Names that the patterns above are not to bring. */
  except?: readonly string[];
  /** What the remote is known to have had, under its own names; what has not changed since costs nothing. */
  known?: readonly RemoteRef[];
  /**
   * Brings commits and trees alone; the contents come when they are first read, from a remote that git's configuration has
   * under a name.
   */
  withoutContents?: boolean;
  /** Objects larger than this are not brought, where the remote can leave them out; bytes. */
  maxObjectBytes?: number;
  /** Ends it when aborted; nothing is left behind then. */
  signal?: AbortSignal;
  /** Told what git tells a person at a terminal, a line at a time. */
  onProgress?: (line: string) => void;
};

/**
 * What a fetch brought, kept apart from the repository until it is accepted: no ref leads to it, git does not see it,
 * and discarding it leaves no trace.
 */
export interface IncomingObjects {
  /** All of the remote's refs that were asked for, unchanged ones too, in the order the remote told them in. */
  readonly refs: readonly RemoteRef[];
  /** Reads what was brought, and what the repository has. */
  readonly objects: Pick<ObjectStore, 'read' | 'has'>;
  /**
   * Brings objects that were left out ({@link FetchRequest.withoutContents}), in one more connection; there only where
   * something was.
   * @throws {RemoteUnreachable} if the connection broke, or the remote lacks one of them
   */
  bring?(ids: readonly ObjectId[]): Promise<void>;
  /**
   * Makes what these commits lead to the repository's, and nothing else; durable, and guarded from a concurrent `git gc`
   * until it is released. Called once.
   * @throws {StorageFull} / {StorageReadOnly}
   */
  accept(tips: readonly ObjectId[]): Promise<WrittenObjects>;
  /** Removes what was not accepted; calling twice is harmless. */
  discard(): Promise<void>;
}

/**
 * One change of one of the remote's refs. Never forced: `value` has to follow what the remote has.
 *
 * `expected` left out: whatever it has, as long as `value` follows it. `expected: null`: it must not have the ref.
 * `value: null` deletes it, and needs `expected`.
 */
export type PushEdit = { name: RefName; value: ObjectId | null; expected?: ObjectId | null };

/** What is asked of one push. */
export type PushRequest = {
  edits: readonly PushEdit[];
  /** Whoever asks has seen that each value follows what is expected; otherwise that is looked at, commit by commit. */
  isForward?: boolean;
  signal?: AbortSignal;
  onProgress?: (line: string) => void;
};

/**
 * What became of one edit. `unchanged`: the ref was at `value` already, whatever was expected. `moved`: the remote's ref
 * was not where it was expected, or `value` does not follow it. `refused`: the remote does not allow it (a hook, a
 * protected name). `undone`: it could have been made, and was not because another one of the same push could not.
 */
export type PushResult = { name: RefName } & (
  | { outcome: 'done' | 'unchanged' }
  | { outcome: 'moved' | 'refused' | 'undone'; reason: string }
);

/**
 * Another repository, as far as it can be reached from this one.
 *
 * Implementations: `native/` (git itself: ssh, https with credential helpers, file, bundle), `http/` (in this process,
 * where there is no git), `folder/` (git itself, but for pushes into ordinary repositories of this machine). All pass
 * `test/contracts/remote.ts`. Each method is one connection.
 */
export interface Remote {
  /** As the user called it: a name in git's configuration, a URL, a path. */
  readonly name: string;
  /** Where it is, without a password. */
  readonly url: string;
  /** True if git's configuration has it under a name, so that what it has is remembered from one command to the next. */
  readonly isConfigured: boolean;

  /** Lists refs without bringing objects: one advertisement. Patterns as in {@link FetchRequest.refs}. */
  list(patterns: readonly string[], signal?: AbortSignal): Promise<RemoteRef[]>;

  /**
   * Brings what the refs lead to and the repository does not have.
   * @throws {RemoteUnreachable} if there is no connection, it broke, or was not let in; nothing is left behind
   * @throws {NoRemoteToReturnTo} if contents are to be left out and the remote has no name to ask for them by
   */
  fetch(request: FetchRequest): Promise<IncomingObjects>;

  /**
   * Makes the edits, all or none where the remote can do that, in the order given where it cannot.
   * @returns a result for each edit, in their order
   * @throws {RemoteUnreachable} if it cannot be told what became of them
   */
  push(request: PushRequest): Promise<PushResult[]>;
}
