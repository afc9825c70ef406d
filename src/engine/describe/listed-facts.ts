import { ObjectMissing } from '../../git/format/object-errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { suspendCauses } from '../../schema/built-in/thread-start.ts';
import { isNumber, isString, objectOf, oneOf, orNull } from '../../shape.ts';
import type { ThreadId, ThreadPointer } from '../../thread/thread-id.ts';
import { HeadTable, MANY_THREADS } from '../../thread/head-table.ts';
import { type ThreadStatus, threadStatuses } from '../../thread/thread-status.ts';
import { listLeases, statusHere } from '../leases/find-lease.ts';
import { findVerdict, listCorrupt } from '../../verify/remembered-verdicts.ts';
import type { Reading } from '../engine-context.ts';
import type { ListedFacts } from './facts.ts';

const isListed = objectOf<ListedFacts>({
  status: oneOf(threadStatuses),
  workflow: isString,
  startedAtMs: isNumber,
  endedAtMs: orNull(isNumber),
  prompt: isString,
  steps: isNumber,
  nextRole: orNull(isString),
  reason: orNull(isString),
  summary: orNull(isString),
  cause: orNull(oneOf(suspendCauses)),
});

/**
 * What this machine remembers of the threads that one list looks at: nothing of the first ones, which their heads tell; the others are in a
 * table.
 */
export class RememberedThreads {
  readonly #repository: Repository;
  readonly #corrupt: ReadonlySet<string>;
  readonly #leased: ReadonlySet<ThreadId>;
  #looked = 0;
  #table: HeadTable<ListedFacts> | undefined;
  #heads: readonly ObjectId[] = [];
  /** Those of {@link expect} that exist; `undefined` before one of them was remembered. */
  #present: ReadonlySet<ObjectId> | undefined;

  constructor(repository: Repository) {
    this.#repository = repository;
    this.#corrupt = listCorrupt(repository);
    this.#leased = new Set(listLeases(repository));
  }

  /** Says which heads come next. */
  expect(heads: readonly ObjectId[]): void {
    this.#heads = heads;
    this.#present = undefined;
  }

  /** What is remembered of a thread at its head. */
  find(pointer: ThreadPointer): ListedFacts | undefined {
    this.#looked += 1;
    if (this.#looked > MANY_THREADS) this.#table ??= new HeadTable(this.#repository, isListed);
    return this.#table?.get(pointer);
  }

  /**
   * The facts of a thread: what is remembered, or what its chain says, which is then remembered, and what verification has
   * found since.
   */
  async factsOf(engine: Reading, pointer: ThreadPointer, known: ListedFacts | undefined): Promise<ListedFacts> {
    const facts = known ?? (await this.#gather(engine, pointer));
    // The cache must not hide that the commit is missing.
    if (known !== undefined && !(await this.#lookUp()).has(pointer.head))
      await assertPresent(this.#repository, pointer);
    return withVerdict(this.#repository, pointer, this.#corrupt, facts);
  }

  /** The whole prompt of a thread, of which only the first line is remembered; `undefined` if it cannot be read. */
  async promptOf(pointer: ThreadPointer): Promise<string | undefined> {
    const { readThreadPrompt } = await import('../../thread/thread-chain.ts');
    return readThreadPrompt(this.#repository, pointer.head);
  }

  /** Looks up which heads exist, all at once: in the order of their ids neighbours share a page of a pack's index. */
  async #lookUp(): Promise<ReadonlySet<ObjectId>> {
    if (this.#present !== undefined) return this.#present;
    const present = new Set<ObjectId>();
    for (const head of this.#heads.toSorted()) if (await this.#repository.objects.has(head)) present.add(head);
    this.#present = present;
    return present;
  }

  /** The status of a thread on this machine. */
  statusHere({ id }: ThreadPointer, status: ThreadStatus): ThreadStatus {
    const isLeased = this.#repository.stateDir === undefined || this.#leased.has(id);
    return isLeased ? statusHere(this.#repository, id, status) : status;
  }

  save(): void {
    this.#table?.save();
  }

  /** Reads a thread from its chain, and remembers it. */
  async #gather(engine: Reading, pointer: ThreadPointer): Promise<ListedFacts> {
    // Reading and deciding load much more than showing what is known.
    const facts = await (await import('./read-listed.ts')).readListed(engine, pointer);
    this.#table?.set(pointer, facts);
    return facts;
  }
}

/** @throws {ObjectMissing} if the head of a thread is not there */
async function assertPresent({ objects }: Repository, { head }: ThreadPointer): Promise<void> {
  if (!(await objects.has(head))) throw new ObjectMissing(head);
}

/** Facts with what verification has found since they were remembered. */
export function withVerdict<Facts extends ListedFacts>(
  repository: Repository,
  pointer: ThreadPointer,
  corrupt: ReadonlySet<string>,
  facts: Facts,
): Facts {
  const what = findVerdict(repository, pointer, corrupt);
  return what === undefined ? facts : { ...facts, status: 'corrupt', reason: what };
}
