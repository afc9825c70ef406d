import type { NodeHash } from '../../cas/hash.ts';
import type { ObjectId } from '../../git/object-id.ts';
import type { CommittedState } from '../new-thread-id.ts';
import { CorruptThread } from '../thread-errors.ts';
import type { ThreadCommit } from '../thread-commit.ts';
import { committedAt, type CommitOf } from '../thread-state.ts';

/** A thread up to one of its commits, as far as the check of the next one looks at it. Holds nothing of what was said. */
export class Progress {
  readonly start: CommitOf<'start'>;
  head: Pick<ThreadCommit, 'id' | 'kind' | 'hash'>;
  /** The newest step; `undefined` before the first. */
  last: { hash: NodeHash; ancestors: readonly NodeHash[]; at: CommittedState } | undefined;
  /** How many steps there are. */
  steps = 0;
  /** What came first after the newest step, if anything has. */
  #pause: ThreadCommit['kind'] | undefined;
  readonly #own: Set<ObjectId>;

  constructor(start: CommitOf<'start'>) {
    this.start = start;
    this.head = start;
    this.#own = new Set([start.id]);
  }

  /** Goes past a step of which nothing more is asked, as there are later ones. */
  pass(id: ObjectId): void {
    this.steps += 1;
    this.#own.add(id);
  }

  /**
   * Goes on by a commit.
   * @throws {CorruptThread} if it is another start
   */
  advance({ id, hash, commit, ...event }: ThreadCommit): void {
    const { kind } = event;
    if (kind === 'start') throw new CorruptThread(id, 'a second start in one chain');
    this.head = { id, kind, hash };
    if (kind === 'step') {
      this.last = { hash, ancestors: event.node.ancestors, at: committedAt({ id, commit }) };
      this.pass(id);
      this.#pause = undefined;
    } else if (kind !== 'end') this.#pause ??= kind;
  }

  /** Tells whether the thread was taken up again after its end and no role has finished a step since. */
  get isReopened(): boolean {
    return this.#pause === 'resume';
  }

  /** The last step's hash, or the start's. */
  get state(): NodeHash {
    return this.last?.hash ?? this.start.hash;
  }

  /** The commit of the last step, or of the start. */
  get stateAt(): CommittedState {
    return this.last?.at ?? committedAt(this.start);
  }

  /** Tells whether a commit is the start, a step, or the head. */
  owns(id: ObjectId): boolean {
    return this.head.id === id || this.#own.has(id);
  }
}
