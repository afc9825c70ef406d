import type { ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readStart } from '../../thread/find-children.ts';
import { readThreadCommit } from '../../thread/thread-commit.ts';
import type { ToldCommit } from '../../thread/told-chain.ts';
import type { Palette } from '../output/palette.ts';
import { formatShort } from './format-entry.ts';
import type { LogEntry } from './log-entry.ts';
import { readLog } from './read-log.ts';

/**
 * Draws a thread with the threads that it called, newest first, as `git log --graph` draws merges: a child stands beside
 * the line of its caller, between the step that called it and the step before. Below a child's start its caller goes on, up
 * to the first start of the call stack.
 *
 * @param headsOf other threads that hang at a commit: children that have not ended yet
 */
export async function* drawGraph(
  repository: Repository,
  head: ObjectId,
  paint: Palette,
  headsOf: readonly ObjectId[] = [],
): AsyncGenerator<{ line: string; entry: LogEntry | undefined }, void, void> {
  yield* draw(repository, head, paint, '', headsOf);
  for (let caller = await callerOf(repository, head); caller; caller = await callerOf(repository, caller)) {
    yield* draw(repository, caller, paint, '', []);
  }
}

/** The commit that a child thread was called from; `undefined` for a thread that nobody called. */
async function callerOf(repository: Repository, commit: ObjectId): Promise<ObjectId | undefined> {
  return (await readStart(repository, commit))?.commit.parents[0];
}

async function* draw(
  repository: Repository,
  head: ObjectId,
  paint: Palette,
  rail: string,
  openChildren: readonly ObjectId[],
): AsyncGenerator<{ line: string; entry: LogEntry | undefined }, void, void> {
  for (const child of openChildren) yield* branch(repository, child, paint, rail);
  for await (const { entry, commit } of readLog(repository, head)) {
    const childEnds = await childEndsOf(repository, commit);
    yield { line: `${rail}*${childEnds.length > 0 ? '  ' : ''} ${formatShort(entry, paint)}`, entry };
    for (const child of childEnds) {
      yield { line: `${rail}|\\`, entry: undefined };
      yield* branch(repository, child, paint, rail);
    }
  }
}

async function* branch(
  repository: Repository,
  head: ObjectId,
  paint: Palette,
  rail: string,
): AsyncGenerator<{ line: string; entry: LogEntry | undefined }, void, void> {
  yield* draw(repository, head, paint, `${rail}| `, []);
  yield { line: `${rail}|/`, entry: undefined };
}

/** Which of a step's further parents are ends of child threads is said by its node. */
async function childEndsOf(repository: Repository, commit: ToldCommit): Promise<ObjectId[]> {
  if (commit.kind !== 'step' || commit.node.childThreads.length === 0) return [];
  const ends: ObjectId[] = [];
  for (const parent of commit.commit.parents.slice(1)) {
    const other = await readThreadCommit(repository, parent).catch(() => undefined);
    if (other?.kind === 'end' && commit.node.childThreads.includes(other.hash)) ends.push(parent);
  }
  return ends;
}
