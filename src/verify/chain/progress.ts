import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import type { CommittedState } from '../../thread/new-thread-id.ts';
import { CorruptThread } from '../../thread/thread-errors.ts';
import type { ThreadCommit } from '../../thread/thread-commit.ts';
import { oidOfNode } from './commit-place.ts';
import { findNewestRecorded } from '../../thread/step-files.ts';
import { type CommitOf, committedAt, type ThreadPlace } from '../../thread/thread-state.ts';

/** What the check of the next commit needs of the commits before it. Contains no texts. */
export class ThreadProgress {
  readonly start: CommitOf<'start'>;
  head: Pick<ThreadCommit, 'id' | 'kind' | 'hash' | 'commit'>;
  /** The newest step; `undefined` before the first. */
  last: { hash: NodeHash; oid: ObjectId | undefined; ancestors: readonly NodeHash[]; at: CommittedState } | undefined;
  /** How many steps there are. */
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

  /**
   * Adds the next commit.
   * @throws {CorruptThread} if it is another start
   */
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
