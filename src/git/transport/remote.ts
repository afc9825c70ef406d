import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../format/object-id.ts';
import { isRefName, parseRefName } from '../format/refs.ts';
import type { ObjectStore, RefName, WrittenObjects } from '../repository.ts';
import type { GitVariable } from '../process/git-variables.ts';

/** A ref of a remote. Its name is not checked. */
export type RemoteRef = { name: string; id: ObjectId };

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

const ROOT = 'refs/';
/** Names that every host takes. They are the same on both sides. */
const COMMON = ['refs/heads/', 'refs/tags/'];

/**
 * The names of refs at a host that takes only branches and tags: all other refs are below a prefix there. With
 * `refs/heads/uwf/`, the host's name of `refs/threads/x` is `refs/heads/uwf/threads/x`.
 *
 * A ref of the host that is neither a branch, nor a tag, nor below the prefix has no name here, because its own name belongs to
 * a ref below the prefix.
 */
export class RefMapping {
  readonly prefix: string;

  /**
   * @param prefix a folder of refs, `refs/<folder>/`; not that of all branches or all tags
   * @param variable where it is configured, for the error
   * @throws {UwfError} `invalid-uwf-prefix`
   */
  constructor(prefix: string, variable: string) {
    const isFolder = prefix.endsWith('/') && isRefName(`${prefix}x`);
    if (!isFolder || prefix === ROOT || COMMON.includes(prefix)) throw invalidPrefix(prefix, variable);
    this.prefix = prefix;
  }

  /** The name at the host. */
  there(name: string): string {
    return isBranchOrTag(name) || !name.startsWith(ROOT) ? name : `${this.prefix}${name.slice(ROOT.length)}`;
  }

  /** The name at the host, of a ref that is to be changed. */
  refThere(name: RefName): RefName {
    return parseRefName(this.there(name));
  }

  /** The name here of a ref of the host; `undefined` if it has none. */
  here(name: string): string | undefined {
    if (name.startsWith(this.prefix)) {
      const mapped = `${ROOT}${name.slice(this.prefix.length)}`;
      // `<prefix>heads/x` is a branch of the host, and not `refs/heads/x`.
      if (!isBranchOrTag(mapped)) return mapped;
    }
    return isBranchOrTag(name) ? name : undefined;
  }

  /** Patterns of the names at the host for a name or a pattern of names here. They can match more. */
  patternsThere(pattern: string): string[] {
    if (!pattern.endsWith('*')) return [this.there(pattern)];
    const start = pattern.slice(0, -1);
    if (isBranchOrTag(start)) return [pattern];
    const mapped = start.startsWith(ROOT) ? `${this.there(start)}*` : `${this.prefix}*`;
    return COMMON.some((common) => common.startsWith(start)) ? [pattern, mapped] : [mapped];
  }
}

/**
 * The mapping that git's configuration sets for a remote: `remote.<name>.uwfPrefix`. An empty value sets none.
 * @throws {UwfError} `invalid-uwf-prefix`
 */
export function refMappingOf(variables: readonly GitVariable[], remote: string): RefMapping | undefined {
  const set = variables.findLast(({ name }) => name === `remote.${remote}.uwfprefix`);
  if (set === undefined || set.value === '') return undefined;
  return new RefMapping(set.value ?? '', `remote.${remote}.uwfPrefix`);
}

export function isBranchOrTag(name: string): boolean {
  return COMMON.some((common) => name.startsWith(common));
}

function invalidPrefix(prefix: string, variable: string): UwfError {
  return new UwfError(`${variable} is '${prefix}', which is no folder of refs`, {
    code: 'invalid-uwf-prefix',
    kind: 'usage',
    hint: `git config ${variable} refs/heads/uwf/`,
    facts: { variable, prefix },
  });
}
