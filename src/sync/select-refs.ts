import { UwfError } from '../errors.ts';
import type { Remote, RemoteRef } from '../git/remote.ts';
import { AmbiguousThread } from '../thread/thread-errors.ts';
import { threadTimeMs, type ThreadId } from '../thread/thread-id.ts';
import { ACTIVE_PREFIX, endedBetween, HISTORY_PREFIX } from '../thread/thread-refs.ts';
import { parseSharedRef, SHARED_PATTERNS } from './shared-ref.ts';
import type { SyncOptions } from './sync-options.ts';

/** A remote has no thread of this id or prefix. */
export class ThreadNotThere extends UwfError {
  readonly text: string;
  readonly remote: string;
  constructor(text: string, remote: string) {
    super(`${remote} has no thread '${text}'`, {
      code: 'thread-not-there',
      kind: 'usage',
      hint: `run 'uwf thread list --remote=${remote}' to see what it has`,
    });
    this.text = text;
    this.remote = remote;
  }
}

/** Which of a remote's refs a fetch is about. */
export type Selection = {
  /** Names or patterns to ask for. */
  refs: readonly string[];
  /** Threads that were named. */
  named: ReadonlySet<ThreadId>;
  /** Tells whether a ref of this name, were it there, would have been asked for. */
  covers(name: string): boolean;
};

/**
 * Says which refs to ask a remote for. Where only some are wanted the remote is asked first what it has, by name alone.
 *
 * @param mayBeMissing true if a thread that is named and that the remote does not have is no error
 * @throws {ThreadNotThere} {AmbiguousThread} if a thread is named that cannot be told
 */
export async function selectRefs(remote: Remote, options: SyncOptions, mayBeMissing: boolean): Promise<Selection> {
  const { threads, sinceMs, endedSinceMs, endedUntilMs, signal } = options;
  const isByEnd = endedSinceMs !== undefined || endedUntilMs !== undefined;
  if (threads === undefined && sinceMs === undefined && !isByEnd) {
    return { refs: SHARED_PATTERNS, named: new Set(), covers: (name) => typeof parseSharedRef(name) !== 'string' };
  }
  const listed = await remote.list(
    SHARED_PATTERNS.flatMap((pattern) => {
      if (!isByEnd || threads !== undefined) return [pattern];
      if (pattern.startsWith(ACTIVE_PREFIX)) return [];
      return pattern.startsWith(HISTORY_PREFIX) ? patternsOfDays(endedSinceMs, endedUntilMs) : [pattern];
    }),
    signal,
  );
  const isWantedDay = endedBetween(endedSinceMs, endedUntilMs);
  const endedThen = new Set<ThreadId>();
  for (const { name } of listed) {
    const ref = parseSharedRef(name);
    if (typeof ref !== 'string' && ref.kind === 'thread' && ref.date !== undefined && isWantedDay(ref.date)) {
      endedThen.add(ref.thread);
    }
  }
  const named = new Set<ThreadId>();
  for (const text of threads ?? []) {
    const thread = resolve(text, listed);
    if (thread !== undefined) named.add(thread);
    else if (!mayBeMissing) throw new ThreadNotThere(text, remote.name);
  }
  const covers = (name: string): boolean => {
    const ref = parseSharedRef(name);
    if (typeof ref === 'string') return false;
    if (threads !== undefined) return ref.kind !== 'workflow' && named.has(ref.thread);
    if (ref.kind === 'workflow') return true;
    if (isByEnd && !endedThen.has(ref.thread)) return false;
    return sinceMs === undefined || threadTimeMs(ref.thread) >= sinceMs;
  };
  return { refs: listed.map(({ name }) => name).filter(covers), named, covers };
}

/** More days than these are asked for by one pattern. */
const MANY_DAYS = 100;
const DAY_MS = 86_400_000;

/** What asks for the refs of threads that ended on some days. */
function patternsOfDays(sinceMs: number | undefined, untilMs: number | undefined): string[] {
  if (sinceMs === undefined || untilMs === undefined || untilMs - sinceMs > MANY_DAYS * DAY_MS)
    return [`${HISTORY_PREFIX}*`];
  const patterns: string[] = [];
  for (let dayMs = Math.floor(sinceMs / DAY_MS) * DAY_MS; dayMs < untilMs; dayMs += DAY_MS) {
    patterns.push(`${HISTORY_PREFIX}${new Date(dayMs).toISOString().slice(0, 10)}/*`);
  }
  return patterns;
}

function resolve(text: string, listed: readonly RemoteRef[]): ThreadId | undefined {
  const wanted = text.toUpperCase();
  const found = new Set<ThreadId>();
  for (const { name } of listed) {
    const ref = parseSharedRef(name);
    if (typeof ref !== 'string' && ref.kind === 'thread' && ref.thread.startsWith(wanted)) found.add(ref.thread);
  }
  const [first, second] = found;
  if (first === undefined || wanted === '') return undefined;
  if (second !== undefined) throw new AmbiguousThread(text, [...found]);
  return first;
}
