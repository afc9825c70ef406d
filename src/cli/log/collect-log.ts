import { isNodeHash } from '../../cas/node-hash.ts';
import { derivedPath } from '../../thread/read/derived-path.ts';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readDerivedJson, tryToWriteDerivedFile } from '../../git/system/derived-file.ts';
import { isJsonObject } from '../../json.ts';
import { arrayOf, isNumber, isString, objectOf, oneOf, orNull, recordOf, stringThat } from '../../shape.ts';
import { suspendCauses } from '../../schema/built-in/thread-suspend.ts';
import type { ThreadPointer } from '../../thread/find/find-thread.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { LogEntry } from './log-entry.ts';

/**
 * Collects the log of a thread, newest first.
 *
 * Cached entries are not read again. Newer entries are read and then cached.
 * @param most how many entries are wanted
 * @param isKept whether the entries that are read are cached
 */
export async function collectLog(
  repository: Repository,
  { id, head }: Pick<ThreadPointer, 'id' | 'head'>,
  most: number,
  { isKept }: { isKept: boolean },
): Promise<LogEntry[]> {
  const known = findLog(repository, id);
  const placeOf = (commit: ObjectId): number => known.entries.findIndex((entry) => entry.head === commit);
  const entries: LogEntry[] = [];
  const isEnough = (): boolean => entries.length >= most;

  /** @returns the commit that it stopped before; null behind the start */
  const readOn = async (from: ObjectId, isLast: (next: ObjectId) => boolean): Promise<ObjectId | null> => {
    const { readLog } = await import('./read-log.ts');
    for await (const { entry, commit } of readLog(repository, from)) {
      entries.push(entry);
      // The parent of a child's start is a commit of its caller: the log of the child ends here.
      if (commit.kind === 'start') return null;
      const next = commit.commit.parents[0];
      if (next !== undefined && isLast(next)) return next;
    }
    return null;
  };

  let next: ObjectId | null = head;
  if (placeOf(head) === -1) {
    next = await readOn(head, (commit) => isEnough() || placeOf(commit) !== -1);
  }
  const countNewer = entries.length;
  if (next !== null && placeOf(next) !== -1) {
    entries.push(...known.entries.slice(placeOf(next)));
    next = known.next;
  }
  const countKnown = entries.length;
  if (next !== null && !isEnough()) next = await readOn(next, isEnough);
  if (isKept && (countNewer > 0 || entries.length > countKnown)) writeLog(repository, id, { entries, next });
  return entries.slice(0, most);
}

/** Consecutive log entries of a thread, newest first. */
type LogPiece = {
  entries: readonly LogEntry[];
  /** The commit behind the last entry; null where that is the start. */
  next: ObjectId | null;
};

/** The version is raised when a field is added or changes its meaning: older files are ignored then. */
const FORM = 'log 4';

const isRefusal = objectOf<NonNullable<LogEntry['refused']>[number]>({
  attempt: isNodeHash,
  errors: arrayOf(isString),
  interrupted: { mayBe: (value): value is true => value === true },
});

const isPiece = objectOf<LogPiece>({
  entries: arrayOf(
    objectOf<LogEntry>({
      kind: oneOf(['start', 'step', 'suspend', 'resume', 'end']),
      hash: isString,
      head: stringThat(isObjectId),
      role: orNull(isString),
      status: orNull(isString),
      agent: orNull(isString),
      at: isString,
      durationMs: orNull(isNumber),
      usage: orNull(isJsonObject),
      text: isString,
      summary: { mayBe: isString },
      said: { mayBe: isString },
      reason: { mayBe: isString },
      cause: { mayBe: oneOf(suspendCauses) },
      refused: { mayBe: arrayOf(isRefusal) },
      trace: { mayBe: orNull(isNodeHash) },
      due: { mayBe: isString },
      suspension: { mayBe: isNodeHash },
      resumption: { mayBe: isNodeHash },
      by: { mayBe: isString },
      more: { mayBe: recordOf(isNumber) },
    }),
  ),
  next: orNull(stringThat(isObjectId)),
});
/** More entries than this are not kept of a thread. */
const MAX_ENTRIES = 100;
/** Nor more text than this, in characters. */
const MAX_TEXT = 64 * 1024;

const nothing: LogPiece = { entries: [], next: null };

/**
 * The cached log of a thread: the entries that were shown and verified the last time.
 *
 * Commits never change, so the entries hold for every head that reaches the first of them.
 */
function findLog(repository: Repository, id: ThreadId): LogPiece {
  const path = derivedPath(repository, id, 'log');
  return (path === undefined ? undefined : readDerivedJson(path, FORM, isPiece)) ?? nothing;
}

/** Caches the newest log entries of a thread, up to the limits. Failure is ignored: the next log reads more. */
function writeLog(repository: Repository, id: ThreadId, piece: LogPiece): void {
  const path = derivedPath(repository, id, 'log');
  const { entries, next } = shorten(piece);
  const [newest] = entries;
  if (path === undefined || newest === undefined) return;
  tryToWriteDerivedFile(path, FORM, `${JSON.stringify({ next, entries })}\n`);
}

function shorten({ entries, next }: LogPiece): LogPiece {
  let length = 0;
  const tooMuch = entries.findIndex((entry, place) => {
    length += entry.text.length + (entry.said?.length ?? 0) + JSON.stringify(entry.refused ?? null).length;
    return place >= MAX_ENTRIES || length > MAX_TEXT;
  });
  const first = entries[tooMuch];
  return first === undefined ? { entries, next } : { entries: entries.slice(0, tooMuch), next: first.head };
}
