import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readChildEnds } from '../../thread/read/light-chain.ts';
import { findStart } from '../../thread/read/read-start.ts';
import type { Palette } from '../output/palette.ts';
import { formatShort } from './format-entry.ts';
import type { LogEntry } from './log-entry.ts';
import { readLog } from './read-log.ts';
import { callerCommit } from '../../thread/read/thread-state.ts';

/** A line of a drawing, and the entry that it shows, if it shows one. */
type Line = { line: string; entry: LogEntry | undefined };

/** The heads of threads that are not part of a history yet, by the commit that each was called from. */
export type OpenChildren = ReadonlyMap<ObjectId, readonly ObjectId[]>;

/**
 * Draws a thread with the threads that it called, newest first, as `git log --graph` draws merges: a child stands beside
 * the line of its caller, between the step that called it and the step before. Below a child's start its caller goes on, up
 * to the first start of the call stack.
 *
 * @param open the children, at any depth, that no step has taken in: each stands above the commit that it was called from
 */
export async function* drawGraph(
  repository: Repository,
  head: ObjectId,
  paint: Palette,
  open: OpenChildren = new Map(),
): AsyncGenerator<Line, void, void> {
  async function* draw(from: ObjectId, rail: string, above: OpenChildren): AsyncGenerator<Line, void, void> {
    for await (const { entry, commit } of readLog(repository, from)) {
      for (const child of above.get(commit.id) ?? []) yield* branch(child, rail, above);
      const childEnds = commit.kind === 'step' ? await readChildEnds(repository, commit) : [];
      yield { line: `${rail}*${childEnds.length > 0 ? '  ' : ''} ${formatShort(entry, paint)}`, entry };
      for (const { id } of childEnds) {
        yield { line: `${rail}|\\`, entry: undefined };
        yield* branch(id, rail, above);
      }
    }
  }

  async function* branch(from: ObjectId, rail: string, above: OpenChildren): AsyncGenerator<Line, void, void> {
    yield* draw(from, `${rail}| `, above);
    yield { line: `${rail}|/`, entry: undefined };
  }

  yield* draw(head, '', open);
  for (let caller = await callerOf(repository, head); caller; caller = await callerOf(repository, caller)) {
    yield* draw(caller, '', new Map());
  }
}

/** The commit from which a child thread was called; `undefined` for any other thread. */
export async function callerOf(repository: Repository, commit: ObjectId): Promise<ObjectId | undefined> {
  const start = await findStart(repository, commit);
  return start && callerCommit(start);
}
