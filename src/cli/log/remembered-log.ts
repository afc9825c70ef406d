import { join } from 'node:path';
import { readDerivedJson, tryToWriteDerivedFile } from '../../git/derived-file.ts';
import { isObjectId, type ObjectId } from '../../git/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { isJsonObject } from '../../json.ts';
import { arrayOf, isNumber, isString, objectOf, oneOf, orNull, recordOf, stringThat } from '../../shape.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import type { LogEntry, Refused } from './log-entry.ts';

/** A piece of a thread's story without a gap, newest first. */
export type LogPiece = {
  entries: readonly LogEntry[];
  /** The commit behind the last entry; null where that is the start. */
  next: ObjectId | null;
};

/** Its number is raised when a field is added or changes its meaning, so that older files are not believed. */
const FORM = 'log 2';

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
      said: { mayBe: isString },
      reason: { mayBe: isString },
      cause: { mayBe: isString },
      refused: { mayBe: orNull(arrayOf(objectOf<Refused>({ attempt: isString, errors: arrayOf(isString) }))) },
      trace: { mayBe: orNull(isString) },
      due: { mayBe: isString },
      suspension: { mayBe: isString },
      resumption: { mayBe: isString },
      by: { mayBe: isString },
      more: { mayBe: recordOf(isNumber) },
    }),
  ),
  next: orNull(stringThat(isObjectId)),
});
/** More entries than this are not kept of a thread. */
const MOST_ENTRIES = 100;
/** Nor more text than this, in characters. */
const MOST_TEXT = 64 * 1024;

const nothing: LogPiece = { entries: [], next: null };

/**
 * What this machine remembers of a thread's story: what was told the last time, with everything that was verified then.
 *
 * A commit never changes, nor what lies behind it, so that this is true of whatever head reaches the first of the entries.
 */
export function findLog(repository: Repository, id: ThreadId): LogPiece {
  const path = pathOf(repository, id);
  return (path === undefined ? undefined : readDerivedJson(path, FORM, isPiece)) ?? nothing;
}

/** Keeps the newest of a story for later, as much as may be kept of a thread; that it cannot is nobody's trouble. */
export function writeLog(repository: Repository, id: ThreadId, piece: LogPiece): void {
  const path = pathOf(repository, id);
  const { entries, next } = shorten(piece);
  const [newest] = entries;
  // What a light clone has not fetched yet is told otherwise once it has been.
  if (path === undefined || newest === undefined || repository.objects.prefetch !== undefined) return;
  tryToWriteDerivedFile(path, FORM, `${JSON.stringify({ next, entries })}\n`);
}

function shorten({ entries, next }: LogPiece): LogPiece {
  let length = 0;
  const tooMuch = entries.findIndex((entry, place) => {
    length += entry.text.length + (entry.said?.length ?? 0) + JSON.stringify(entry.refused ?? null).length;
    return place >= MOST_ENTRIES || length > MOST_TEXT;
  });
  const first = entries[tooMuch];
  return first === undefined ? { entries, next } : { entries: entries.slice(0, tooMuch), next: first.head };
}

function pathOf({ stateDir }: Repository, id: ThreadId): string | undefined {
  // Beside what else is remembered of the thread, to go when that goes.
  return stateDir === undefined ? undefined : join(stateDir, 'facts', id.slice(-2), `${id}.log`);
}
