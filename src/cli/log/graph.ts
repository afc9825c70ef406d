import type { ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { findStart, readChildEnds } from '../../thread/thread-chain.ts';
import type { Palette } from '../output/text.ts';
import { formatShort, type LogEntry } from './log-entry.ts';
import { readLog } from './read-log.ts';
import { callerCommit } from '../../thread/thread-state.ts';

/** So many of the threads that one turn called are drawn. */
export const MAX_DRAWN = 20;

/** A line of a drawing, and the entry that it shows, if it shows one. */
type Line = { line: string; entry: LogEntry | undefined };

/**
 * The heads of threads that are not part of a history yet, by the commit that each was called from, and how many more there
 * are.
 */
export type OpenChildren = ReadonlyMap<ObjectId, { heads: readonly ObjectId[]; left: number }>;

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
      const { heads, left: leftOpen } = above.get(commit.id) ?? { heads: [], left: 0 };
      if (leftOpen > 0) yield { line: `${rail}| ${paint.quiet(`… and ${leftOpen} more`)}`, entry: undefined };
      for (const child of heads) yield* branch(child, rail, above);
      const childEnds = commit.kind === 'step' ? await readChildEnds(repository, commit) : [];
      const key = commit.kind === 'start' && commit.node.call?.block ? commit.node.call.key : undefined;
      yield { line: `${rail}*${childEnds.length > 0 ? '  ' : ''} ${formatShort(entry, paint, key)}`, entry };
      for (const { id } of childEnds.slice(0, MAX_DRAWN)) {
        yield { line: `${rail}|\\`, entry: undefined };
        yield* branch(id, rail, above);
      }
      const left = childEnds.length - MAX_DRAWN;
      if (left > 0)
        yield {
          line: `${rail}| ${paint.quiet(`… and ${left} more, which 'git log --graph' draws`)}`,
          entry: undefined,
        };
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
