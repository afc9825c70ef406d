import { closeSync, constants, fstatSync, openSync, readSync, statSync } from 'node:fs';
import { READ } from '../../git/system/files.ts';
import { isJsonObject, parseJson } from '../../json.ts';
import type { Repository } from '../../git/repository.ts';
import type { ThreadId } from '../../thread/thread-id.ts';
import { journalPaths, type JournalEntry } from './journal.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import { mayBeAtWork } from '../leases/find-lease.ts';
import { orElse } from '../../or-else.ts';

const CHUNK_BYTES = 64 * 1024;

/** Reads on in a thread's journal: each call gives what was written since the one before, the first all there is. */
export interface JournalReader {
  next(): JournalEntry[];
  /** Tells whether lines are missing from the result of the last call, because the journal has removed their file. */
  hasGap(): boolean;
  /** Where the next call reads on; a later reader that gets it reads on there. */
  place(): JournalPlace | undefined;
  close(): void;
}

/** A place in a journal: its generation, which is one file, and the bytes of it that were read. */
export type JournalPlace = { generation: string; offset: number };

/**
 * Opens the journal of a thread on this machine; there need not be one yet.
 *
 * Lines that are damaged are left out. Follows the journal into a new file when the old one has grown too large.
 * @param from a place that an earlier reader has reached; the whole journal if its file is gone
 */
export function openJournal({ stateDir }: Repository, thread: ThreadId, from?: JournalPlace): JournalReader {
  if (stateDir === undefined) {
    return { next: () => [], hasGap: () => false, place: () => undefined, close: () => {} };
  }
  const { current, older } = journalPaths(stateDir, thread);
  let tail: FileTail | undefined;
  let isFirst = true;
  let hasGap = false;
  /** What is left of the file that was put aside, unless it is the one whose inode is given. */
  const readOlder = (isRead: number | undefined, start?: JournalPlace): string[] => {
    const before = FileTail.open(older);
    if (before?.isAt(start)) before.skipTo(start);
    else hasGap ||= start !== undefined;
    const lines = before && before.inode !== isRead ? before.read() : [];
    before?.close();
    return lines;
  };
  return {
    next() {
      const lines: string[] = [];
      hasGap = false;
      tail ??= FileTail.open(current);
      if (isFirst) {
        if (tail?.isAt(from)) tail.skipTo(from);
        // The same file, if it was put aside in between.
        else lines.push(...readOlder(tail?.inode, from));
        isFirst = false;
      }
      while (tail) {
        lines.push(...tail.read());
        if (tail.isStillAt(current)) break;
        // It was put aside; what came before that has to be read first.
        lines.push(...tail.read());
        tail.close();
        const { inode } = tail;
        tail = FileTail.open(current);
        const between = readOlder(inode);
        // Another one was put aside since: how many there were in between, nothing tells.
        hasGap ||= between.length > 0;
        lines.push(...between);
      }
      return lines.flatMap(parseLine);
    },
    hasGap: () => hasGap,
    place: () => tail?.place(),
    close() {
      tail?.close();
      tail = undefined;
    },
  };
}

/** All that the journal of a thread holds, oldest first. */
export function readJournal(repository: Repository, thread: ThreadId): JournalEntry[] {
  const reader = openJournal(repository, thread);
  try {
    return reader.next();
  } finally {
    reader.close();
  }
}

const ends = new Set<string>([
  'step.finished',
  'thread.suspended',
  'thread.ended',
  'thread.failed',
  'thread.cancelled',
]);

/** The entries of the turn that goes on or was cut off, beginning with `step.started`; empty where there is none. */
export function unfinishedTurn(entries: readonly JournalEntry[]): JournalEntry[] {
  const start = entries.findLastIndex(({ event }) => event === 'step.started');
  const turn = start === -1 ? [] : entries.slice(start);
  return turn.some(({ event }) => ends.has(event)) ? [] : turn;
}

/** Tells whether the last turn became a step, so that all that was said in it is stored. */
export function isAllStored(entries: readonly JournalEntry[]): boolean {
  const last = entries.findLast(({ event }) => event === 'step.started' || ends.has(event));
  return last === undefined || last.event === 'step.finished' || last.event === 'thread.ended';
}

/** A file that grows, read piece by piece. */
class FileTail {
  readonly #descriptor: number;
  readonly inode: number;
  readonly #generation: string;
  #position = 0;
  #rest = Buffer.alloc(0);

  static open(path: string): FileTail | undefined {
    // An error: it is not written yet, or was put aside in this very moment.
    const descriptor = orElse(() => openSync(path, READ | constants.O_NOFOLLOW), undefined);
    if (descriptor === undefined) return undefined;
    // A folder can be opened, but not read.
    if (fstatSync(descriptor).isFile()) return new FileTail(descriptor);
    closeSync(descriptor);
    return undefined;
  }

  private constructor(descriptor: number) {
    this.#descriptor = descriptor;
    const { ino, birthtimeMs } = fstatSync(descriptor);
    this.inode = ino;
    this.#generation = `${ino}-${Math.round(birthtimeMs)}`;
  }

  isAt(place: JournalPlace | undefined): place is JournalPlace {
    return place?.generation === this.#generation;
  }

  /** Passes over what an earlier reader has read. */
  skipTo({ offset }: JournalPlace): void {
    this.#position = Math.min(offset, fstatSync(this.#descriptor).size);
  }

  /** The end of the last whole line that was read. */
  place(): JournalPlace {
    return { generation: this.#generation, offset: this.#position - this.#rest.length };
  }

  /** The whole lines that were written since. */
  read(): string[] {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    const lines: string[] = [];
    for (;;) {
      const count = readSync(this.#descriptor, buffer, 0, buffer.length, this.#position);
      if (count === 0) return lines;
      this.#position += count;
      const bytes = Buffer.concat([this.#rest, buffer.subarray(0, count)]);
      const end = bytes.lastIndexOf('\n') + 1;
      this.#rest = bytes.subarray(end);
      if (end > 0) lines.push(...bytes.toString('utf8', 0, end - 1).split('\n'));
    }
  }

  isStillAt(path: string): boolean {
    const stat = statSync(path, { throwIfNoEntry: false });
    // Where there is none yet, the next entry makes one.
    return stat === undefined || stat.ino === this.inode;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}

function parseLine(line: string): JournalEntry[] {
  const value = parseJson(line);
  // Only `journal.ts` writes there; a line that a crash cut off is no JSON.
  const isEntry = isJsonObject(value) && typeof value['event'] === 'string' && typeof value['at'] === 'number';
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- An entry of this name has these facts.
  return isEntry ? [value as unknown as JournalEntry] : [];
}

const POLL_MS = 100;

/**
 * Gives what happens on a thread as it happens, whichever process works on it: first all that its journal holds, as one
 * list, then what comes. Ends when no process works on the thread any more.
 */
export async function* followThread(
  repository: Repository,
  thread: ThreadId,
  signal: AbortSignal,
): AsyncGenerator<JournalEntry[], void, void> {
  const reader = openJournal(repository, thread);
  try {
    for (let isFirst = true; ; isFirst = false) {
      // Asked before reading: what a holder writes before it goes is then read for certain.
      const isOver = !mayBeAtWork(repository, thread);
      const entries = reader.next();
      if (isFirst || entries.length > 0) yield entries;
      if (isOver || signal.aborted) return;
      await sleep(POLL_MS, undefined, { signal }).catch(() => {});
    }
  } finally {
    reader.close();
  }
}
