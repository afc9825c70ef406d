import { ObjectMissing } from '../../git/format/object-errors.ts';
import type { Repository } from '../../git/repository.ts';
import { suspendCauses } from '../../schema/built-in/thread-suspend.ts';
import { isNumber, isString, objectOf, oneOf, orNull } from '../../shape.ts';
import type { ThreadOrigin } from '../../thread/find/find-origins.ts';
import type { ThreadPointer } from '../../thread/find/find-thread.ts';
import { HeadTable, MANY_THREADS } from '../../thread/read/head-table.ts';
import { threadStatuses } from '../../thread/read/thread-status.ts';
import { findVerdict } from '../../verify/remembered-verdicts.ts';
import type { EngineContext } from '../engine-context.ts';
import { findFacts, type ThreadFacts } from './facts.ts';

/** What a list says of a thread at one head. */
export type ListedFacts = Pick<
  ThreadFacts,
  'status' | 'workflow' | 'startedAtMs' | 'endedAtMs' | 'prompt' | 'steps' | 'nextRole' | 'reason' | 'cause'
>;

const isListed = objectOf<ListedFacts>({
  status: oneOf(threadStatuses),
  workflow: isString,
  startedAtMs: isNumber,
  endedAtMs: orNull(isNumber),
  prompt: isString,
  steps: isNumber,
  nextRole: orNull(isString),
  reason: orNull(isString),
  cause: orNull(oneOf(suspendCauses)),
});

/**
 * What this machine remembers of the threads that one list looks at: of the first ones each has a file, the others are in a
 * table. So a short list reads a few small files, and a long one few files in all.
 */
export class RememberedThreads {
  readonly #repository: Repository;
  #looked = 0;
  #table: HeadTable<ListedFacts> | undefined;
  /** Its threads need not be read again to find the children of one. */
  #origins: HeadTable<ThreadOrigin> | undefined;

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  find(pointer: ThreadPointer): ListedFacts | undefined {
    this.#looked += 1;
    if (this.#looked > MANY_THREADS) this.#table ??= new HeadTable(this.#repository, 'listed', isListed);
    const known = this.#table?.get(pointer);
    if (known !== undefined) return known;
    const facts = findFacts(this.#repository, pointer.id, pointer.head);
    if (facts !== undefined) this.#table?.set(pointer, listedOf(facts));
    return facts;
  }

  /** Reads a thread from its chain, and remembers it. */
  async gather(engine: EngineContext, pointer: ThreadPointer): Promise<ListedFacts> {
    // Reading and deciding load much more than showing what is known.
    const { gatherFacts } = await import('./gather-facts.ts');
    const facts = await gatherFacts(engine, pointer, this.#table === undefined);
    if (this.#table === undefined) return facts;
    this.#table.set(pointer, listedOf(facts));
    this.#origins ??= (await import('../../thread/find/find-origins.ts')).openOrigins(this.#repository);
    this.#origins.set(pointer, { start: facts.startCommit, parentStart: facts.parentStart });
    return facts;
  }

  save(): void {
    this.#table?.save();
    this.#origins?.save();
  }
}

function listedOf(facts: ThreadFacts): ListedFacts {
  const { status, workflow, startedAtMs, endedAtMs, prompt, steps, nextRole, reason, cause } = facts;
  return { status, workflow, startedAtMs, endedAtMs, prompt, steps, nextRole, reason, cause };
}

/** Facts that were found, or are gathered, and what verification has found since. */
export async function checked<Facts extends ListedFacts>(
  { repository }: EngineContext,
  pointer: ThreadPointer,
  corrupt: ReadonlySet<string>,
  found: Facts | (() => Promise<Facts>),
): Promise<Facts> {
  const what = findVerdict(repository, pointer, corrupt);
  // The cache must not hide that the commit is missing.
  if (typeof found !== 'function' && !(await repository.objects.has(pointer.head)))
    throw new ObjectMissing(pointer.head);
  const facts = typeof found === 'function' ? await found() : found;
  return what === undefined ? facts : { ...facts, status: 'corrupt', reason: what };
}
