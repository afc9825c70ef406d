import { matcherOf } from '../../git/transport/list-remote-refs.ts';
import type { Remote } from '../../git/transport/remote.ts';
import { ambiguousThread } from '../../thread/thread-errors.ts';
import { ACTIVE_PREFIX, endedBetween, HISTORY_PREFIX, type ThreadId, threadTimeMs } from '../../thread/thread-id.ts';
import { ThreadNotThere } from '../refs/list-remote-threads.ts';
import { patternsOfDays } from '../refs/places.ts';
import { parseSharedRef, SHARED_PATTERNS, sortRefs } from '../refs/sorted-refs.ts';
import type { SyncOptions } from '../sync-options.ts';

/** Which refs of a remote a fetch asks for. */
export type Selection = {
  /** Names or patterns. */
  refs: readonly string[];
  /** Threads that the user named. */
  named: ReadonlySet<ThreadId>;
  /** What the user named and no ref has: the remote's archive may list it. */
  unknown: readonly string[];
  /** Tells whether the fetch would ask for a ref of this name, if the remote had it. */
  covers(name: string): boolean;
};

/**
 * Selects the refs to fetch. If only some threads are wanted, lists the remote's refs first.
 *
 * @param mayBeMissing true if the remote may lack a named thread
 * @throws {ThreadNotThere} {UwfError} `ambiguous-thread` if a named thread is unknown or ambiguous
 */
export async function selectRefs(remote: Remote, options: SyncOptions, mayBeMissing: boolean): Promise<Selection> {
  const { threads, sinceMs, endedSinceMs, endedUntilMs, signal } = options;
  const isByEnd = endedSinceMs !== undefined || endedUntilMs !== undefined;
  if (threads === undefined && sinceMs === undefined && !isByEnd) {
    return { refs: SHARED_PATTERNS, named: new Set(), unknown: [], covers: isSharedBy(SHARED_PATTERNS) };
  }
  const listed = await remote.list(
    SHARED_PATTERNS.flatMap((pattern) => {
      if (!isByEnd || threads !== undefined) return [pattern];
      if (pattern.startsWith(ACTIVE_PREFIX)) return [];
      return pattern.startsWith(HISTORY_PREFIX)
        ? patternsOfDays(endedSinceMs ?? -Infinity, endedUntilMs ?? Infinity, '*')
        : [pattern];
    }),
    signal,
  );
  const { threads: there, archive } = sortRefs(listed);
  const isWantedDay = endedBetween(endedSinceMs, endedUntilMs);
  const hasEndedThen = (thread: ThreadId): boolean =>
    (there.get(thread) ?? []).some(({ endedOn }) => endedOn !== undefined && isWantedDay(endedOn));
  const named = new Set<ThreadId>();
  const unknown: string[] = [];
  for (const text of threads ?? []) {
    const thread = resolve(text, there.keys());
    if (thread !== undefined) named.add(thread);
    else if (archive !== undefined) unknown.push(text);
    else if (!mayBeMissing) throw new ThreadNotThere(text, remote.name);
  }
  const covers = (name: string): boolean => {
    const ref = parseSharedRef(name);
    if (typeof ref === 'string') return false;
    if (ref.kind === 'archive') return true;
    if (threads !== undefined) return ref.kind !== 'workflow' && named.has(ref.thread);
    if (ref.kind === 'workflow') return true;
    if (isByEnd && !hasEndedThen(ref.thread)) return false;
    return sinceMs === undefined || threadTimeMs(ref.thread) >= sinceMs;
  };
  return { refs: listed.map(({ name }) => name).filter(covers), named, unknown, covers };
}

/**
 * Selects the refs of some patterns or names, with no thread named by a user.
 * @param refs patterns with one `*` at the end, or names
 */
export function selectPatterns(refs: readonly string[]): Selection {
  return { refs, named: new Set(), unknown: [], covers: isSharedBy(refs) };
}

function isSharedBy(patterns: readonly string[]): (name: string) => boolean {
  const isWanted = matcherOf(patterns);
  return (name) => isWanted(name) && typeof parseSharedRef(name) !== 'string';
}

/** @throws {UwfError} `ambiguous-thread` */
export function resolve(text: string, threads: Iterable<ThreadId>): ThreadId | undefined {
  const wanted = text.toUpperCase();
  const found = [...threads].filter((thread) => thread.startsWith(wanted));
  const [first, second] = found;
  if (first === undefined || wanted === '') return undefined;
  if (second !== undefined) throw ambiguousThread(text, found);
  return first;
}
