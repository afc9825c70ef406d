import { renameSync, statSync } from 'node:fs';
import type { Repository } from '../git/repository.ts';
import type { JsonObject } from '../json.ts';
import type { ThreadId } from '../thread/thread-id.ts';
import type { EngineEvent } from './events.ts';
import { findLease } from './find-lease.ts';
import { journalFolder, journalPaths, MAX_JOURNAL_BYTES, pruneJournals } from './journal-files.ts';
import { writeSummed } from './summed-line.ts';
import { makeFolders } from '../git/make-folders.ts';
import { share } from '../git/sharing.ts';
import { APPEND, writeOwnFile } from '../git/state-folder.ts';

/** What the engine does and does not tell: decisions, leases, tries, timings; `facts` say more. */
export type DebugLine = { event: 'debug'; thread: ThreadId; about: string; facts: JsonObject };

/** One line of a journal, with its time in ms since 1970. */
export type JournalEntry = { at: number } & (EngineEvent | DebugLine | SkippedLine);

/** So many lines were not written, because more came than anybody could have read. */
export type SkippedLine = { event: 'journal.skipped'; thread: ThreadId; lines: number };

/** How long what an agent says is gathered, in ms. */
const GATHER_MS = 50;
/** More than this is not gathered: what comes beyond it before the next writing is counted and let go. */
const MAX_PENDING_BYTES = 1024 * 1024;
const MAX_TEXT_LENGTH = 64 * 1024;

/**
 * Writes down on this machine, thread by thread, what happens while an agent works: for those who watch from another
 * terminal, and for what was said in a turn that was cut off.
 *
 * It is never the truth, and never in the way: nothing here throws, an agent's words are gathered and written together,
 * and what the files may take on the disk is bounded. The engine's own events are written at once.
 */
export class Journal {
  readonly #repository: Repository;
  readonly #threads = new Map<ThreadId, ThreadJournal>();

  constructor(repository: Repository) {
    this.#repository = repository;
  }

  /**
   * Writes an entry, or gathers it to be written within {@link GATHER_MS}.
   * @param thread whose journal it belongs into; default: that of the thread it is about
   */
  write(line: EngineEvent | DebugLine, thread: ThreadId = line.thread): void {
    if (this.#repository.stateDir === undefined) return;
    try {
      this.#of(this.#repository.stateDir, thread).write({ at: this.#repository.now(), ...line });
    } catch {
      // What cannot be written down happens all the same.
    }
  }

  /** Writes what was gathered for a thread. Afterwards nothing is kept of it. */
  close(thread: ThreadId): void {
    this.#threads.get(thread)?.flush();
    this.#threads.delete(thread);
  }

  #of(stateDir: string, thread: ThreadId): ThreadJournal {
    const known = this.#threads.get(thread);
    if (known) return known;
    makeFolders(journalFolder(stateDir));
    const journal = new ThreadJournal(thread, journalPaths(stateDir, thread));
    this.#threads.set(thread, journal);
    if (journal.isNew) pruneJournals(stateDir, (other) => findLease(this.#repository, other) !== undefined);
    return journal;
  }
}

class ThreadJournal {
  readonly isNew: boolean;
  readonly #thread: ThreadId;
  readonly #paths: { current: string; older: string };
  #bytes: number;
  #pending: string[] = [];
  #pendingBytes = 0;
  #skipped = 0;
  #writtenMs = -Infinity;
  #timer: NodeJS.Timeout | undefined;

  constructor(thread: ThreadId, paths: { current: string; older: string }) {
    this.#thread = thread;
    this.#paths = paths;
    const stat = statSync(paths.current, { throwIfNoEntry: false });
    this.isNew = stat === undefined;
    this.#bytes = stat?.size ?? 0;
  }

  write(entry: JournalEntry): void {
    const isAgents = entry.event.startsWith('agent.');
    if (this.#pendingBytes > MAX_PENDING_BYTES && isAgents) this.#skipped += 1;
    else this.#gather(entry);
    const waitMs = this.#writtenMs + GATHER_MS - performance.now();
    if (waitMs <= 0 || !(isAgents || entry.event === 'debug')) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), waitMs).unref();
  }

  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#skipped > 0) {
      this.#gather({ at: Date.now(), event: 'journal.skipped', thread: this.#thread, lines: this.#skipped });
    }
    const text = this.#pending.join('');
    const bytes = this.#pendingBytes;
    this.#pending = [];
    this.#pendingBytes = 0;
    this.#skipped = 0;
    this.#writtenMs = performance.now();
    if (text === '') return;
    try {
      writeOwnFile(this.#paths.current, APPEND, text, 0o600);
      if (this.#bytes === 0) share(this.#paths.current);
      this.#bytes += bytes;
      if (this.#bytes < MAX_JOURNAL_BYTES) return;
      renameSync(this.#paths.current, this.#paths.older);
      this.#bytes = 0;
    } catch {
      // A full disk, or a repository that may only be read.
    }
  }

  #gather(entry: JournalEntry): void {
    const line = `${writeSummed(entry, shorten)}\n`;
    this.#pending.push(line);
    this.#pendingBytes += Buffer.byteLength(line);
  }
}

/** For `JSON.stringify`: keeps the beginning of a long text, and says so. */
function shorten(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_TEXT_LENGTH) return value;
  return `${value.slice(0, MAX_TEXT_LENGTH)}\n[uwf left ${value.length - MAX_TEXT_LENGTH} characters out here]\n`;
}
