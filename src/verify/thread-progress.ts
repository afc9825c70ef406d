import type { NodeHash } from '../cas/hash.ts';
import type { IndexEntry } from '../cas/commit-nodes.ts';
import { alone, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import type { ThreadCall, ThreadStart } from '../schema/built-in/thread-start.ts';
import type { Usage } from '../schema/built-in/schema-parts.ts';
import type { CommittedState } from '../thread/new-thread-id.ts';
import { findNewestRecorded } from '../thread/step-files.ts';
import type { ThreadCommit } from '../thread/thread-commit.ts';
import { CorruptThread } from '../thread/thread-errors.ts';
import { type CommitOf, committedAt, readPlace, type ThreadPlace, usageOfEnded } from '../thread/thread-state.ts';

/** What the check of the next commit needs of the commits before it. Contains no texts. */
export class ThreadProgress {
  readonly start: CommitOf<'start'>;
  head: Pick<ThreadCommit, 'id' | 'kind' | 'hash' | 'commit'>;
  /** The newest step; `undefined` before the first. */
  last: { hash: NodeHash; oid: ObjectId | undefined; ancestors: readonly NodeHash[]; at: CommittedState } | undefined;
  steps = 0;
  /** The kind of the first commit after the newest step. */
  #pause: ThreadCommit['kind'] | undefined;
  readonly #own: Set<ObjectId>;
  /** The newest record of files; a step of which neither it nor those before it were looked at for one; neither. */
  #recorded: ObjectId | CommitOf<'step'> | undefined;

  constructor(start: CommitOf<'start'>) {
    this.start = start;
    this.head = start;
    this.#own = new Set([start.id]);
  }

  /** The progress of a thread that was verified before. It knows the start and the head; {@link own} adds other steps. */
  static upTo({ head: { id, kind, hash, commit }, start, last, pauses, tally }: ThreadPlace): ThreadProgress {
    const progress = new ThreadProgress(start);
    progress.head = { id, kind, hash, commit };
    if (last !== undefined) {
      const { hash, node } = last;
      progress.last = { hash, oid: oidOfNode(last), ancestors: node.ancestors, at: committedAt(last) };
    }
    progress.steps = tally.steps;
    progress.#pause = pauses[0]?.kind;
    progress.#recorded = last;
    return progress;
  }

  /** Adds a step that has been counted. */
  own(id: ObjectId): void {
    this.#own.add(id);
  }

  advance({ id, hash, commit, index, ...event }: ThreadCommit): void {
    const { kind } = event;
    if (kind === 'start') throw new CorruptThread(id, 'a second start in one chain');
    this.head = { id, kind, hash, commit };
    if (kind === 'step') {
      const oid = oidOfNode({ kind, index });
      this.last = { hash, oid, ancestors: event.node.ancestors, at: committedAt({ id, commit }) };
      this.steps += 1;
      this.#own.add(id);
      this.#pause = undefined;
      const { workspace } = event.node;
      if (workspace !== undefined) this.#recorded = workspace.commit;
    } else if (kind !== 'end') this.#pause ??= kind;
  }

  /** Tells whether the thread was resumed after its end and has no step since. */
  get isReopened(): boolean {
    return this.#pause === 'resume';
  }

  /** The last step's hash, or the start's. */
  get state(): NodeHash {
    return this.last?.hash ?? this.start.hash;
  }

  /** The blob of that node. */
  get stateOid(): ObjectId | undefined {
    return this.last ? this.last.oid : oidOfNode(this.start);
  }

  /** The commit of the last step, or of the start. */
  get stateAt(): CommittedState {
    return this.last?.at ?? committedAt(this.start);
  }

  /** The commit with the files that the newest recording step left; else the one that the thread's work tree was made from. */
  async readBase(repository: Repository): Promise<ObjectId | undefined> {
    if (typeof this.#recorded === 'object') {
      this.#recorded = (await findNewestRecorded(repository, this.#recorded))?.node.workspace?.commit;
    }
    return this.#recorded ?? this.start.node.base;
  }

  /** Tells whether a commit is the start, a step, or the head. */
  owns(id: ObjectId): boolean {
    return this.head.id === id || this.#own.has(id);
  }
}

/** The place of a commit: its thread, and the last step up to it. Small, because many are kept. */
export type CommitPlace = {
  kind: ThreadCommit['kind'];
  hash: NodeHash;
  oid?: ObjectId | undefined;
  /** The number of the step, if it is one. */
  number: number | undefined;
  /** All that its thread has used, if it is an end. */
  used?: Usage | null;
  start: StartPlace;
  /** The last step, or the start: its node and its commit. */
  state: NodeHash;
  stateOid?: ObjectId | undefined;
  stateAt: CommittedState;
};

/** What the commits of other threads are checked against of a start. All places of a thread share it. */
type StartPlace = Pick<ThreadStart, 'depth' | 'parentThread' | 'parentState' | 'parentRole'> & {
  hash: NodeHash;
  oid?: ObjectId | undefined;
  workflow?: IndexEntry | undefined;
  /** The definitions pinned for its calls, by the names of their folders in `children/`; absent if there are none. */
  pinned?: ReadonlyMap<string, NodeHash>;
  /** What the step of a block is checked against, if it is a branch. */
  branch?: BranchPlace;
};

/** The part of a branch's start that its block decided. */
export type BranchPlace = Pick<ThreadCall, 'key' | 'thread'> &
  Pick<ThreadStart, 'base'> & { prompt: IndexEntry | undefined };

/** The place of a commit whose thread has been read. */
export function commitPlaceOf(
  commit: ThreadCommit,
  start: CommitOf<'start'>,
  { state, stateOid, stateAt }: Pick<CommitPlace, 'state' | 'stateOid' | 'stateAt'>,
): CommitPlace {
  const hash = alone(commit.hash);
  const oid = oidOfNode(commit);
  const own = oid && alone(oid);
  return {
    kind: commit.kind,
    hash,
    oid: own,
    number: commit.kind === 'step' ? commit.node.number : undefined,
    ...(commit.kind === 'end' && { used: usageOfEnded(commit.node) }),
    start: startPlaceOf(start),
    state: state === hash ? hash : alone(state),
    stateOid: stateOid === own ? own : stateOid && alone(stateOid),
    stateAt,
  };
}

function oidOfNode({ kind, index }: Pick<ThreadCommit, 'kind' | 'index'>): ObjectId | undefined {
  return index.find(({ path }) => path === `${kind}.json`)?.oid;
}

const startPlaces = new WeakMap<CommitOf<'start'>, StartPlace>();

function startPlaceOf(start: CommitOf<'start'>): StartPlace {
  const place = startPlaces.get(start) ?? readStartPlace(start);
  startPlaces.set(start, place);
  return place;
}

function readStartPlace({ hash, node, index }: CommitOf<'start'>): StartPlace {
  const { depth, parentThread, parentState, parentRole, call, base } = node;
  const at = (path: string): IndexEntry | undefined => index.find((entry) => entry.path === path);
  const pinned = index.flatMap((entry) => {
    const folder = /^children\/([^/]+)\/workflow\.json$/.exec(entry.path)?.[1];
    return folder === undefined ? [] : [[folder, entry.hash] as const];
  });
  return {
    hash,
    oid: at('start.json')?.oid,
    depth,
    parentThread,
    parentState,
    parentRole,
    workflow: at('workflow/workflow.json'),
    ...(pinned.length > 0 && { pinned: new Map(pinned) }),
    ...(call?.block !== undefined && {
      branch: { key: call.key, thread: call.thread, prompt: at('prompt.md'), ...(base !== undefined && { base }) },
    }),
  };
}

/** Reads the place of a commit, without further checks. */
export async function readCommitPlace(repository: Repository, id: ObjectId): Promise<CommitPlace> {
  const { head, start, last = start } = await readPlace(repository, id);
  return commitPlaceOf(head, start, { state: last.hash, stateOid: oidOfNode(last), stateAt: committedAt(last) });
}
