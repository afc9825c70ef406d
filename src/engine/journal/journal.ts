import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { tryTo } from '../../or-else.ts';
import type { Repository } from '../../git/repository.ts';
import type { JsonObject } from '../../json.ts';
import { isThreadId, type ThreadId } from '../../thread/thread-id.ts';
import type { EngineEvent } from '../events.ts';
import { mayBeAtWork } from '../leases/find-lease.ts';
import { APPEND, makeFolders, namesIn, share, writeOwnFile } from '../../git/system/files.ts';
import { join } from 'node:path';
import { monotonicMs } from '../../time/clock.ts';

/** A journal that has grown so large makes room for a new one; the one before that goes. */
export const MAX_JOURNAL_BYTES: number = 4 * 1024 * 1024;

/** What the journals of all threads may take together; the ones least lately written go first. */
const MAX_JOURNALS_BYTES: number = 256 * 1024 * 1024;

/** How many files that may be. */
export const MAX_JOURNALS = 2_000;

function journalFolder(stateDir: string): string {
  return join(stateDir, 'journal');
}

/** The file that is written to now, and the one that was before it grew too large. */
export function journalPaths(stateDir: string, thread: ThreadId): { current: string; older: string } {
  const path = join(journalFolder(stateDir), thread);
  return { current: `${path}.jsonl`, older: `${path}.1.jsonl` };
}

export function listJournals(stateDir: string): ThreadId[] {
  return [...new Set(namesIn(journalFolder(stateDir)).map((name) => name.split('.')[0] ?? ''))].filter(isThreadId);
}

/**
 * Removes the journals that were not written for the longest time, until the others are few and small enough.
 * @param isInUse tells whether a process works on a thread; its journal stays
 */
export function pruneJournals(stateDir: string, isInUse: (thread: ThreadId) => boolean): void {
  const folder = journalFolder(stateDir);
  const files = readdirSync(folder)
    .flatMap((name) => {
      const stat = statSync(join(folder, name), { throwIfNoEntry: false });
      return stat ? [{ name, bytes: stat.size, modifiedMs: stat.mtimeMs }] : [];
    })
    .toSorted((a, b) => b.modifiedMs - a.modifiedMs);
  let bytes = 0;
  for (const [place, file] of files.entries()) {
    bytes += file.bytes;
    if (place < MAX_JOURNALS && bytes <= MAX_JOURNALS_BYTES) continue;
    const thread = file.name.split('.')[0] ?? '';
    if (isThreadId(thread) && !isInUse(thread)) rmSync(join(folder, file.name), { force: true });
  }
}

/** What the engine does and does not tell: decisions, leases, tries, timings; `facts` say more. */
type DebugLine = { event: 'debug'; thread: ThreadId; about: string; facts: JsonObject };

/** One line of a journal, with its time in ms since 1970. */
export type JournalEntry = { at: number } & (EngineEvent | DebugLine | SkippedLine);

/** Lines that were not written, because more came than fits. */
type SkippedLine = { event: 'journal.skipped'; thread: ThreadId; lines: number };

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
    const { stateDir, now } = this.#repository;
    // A journal that cannot be written never stops a run.
    if (stateDir !== undefined) tryTo(() => this.#of(stateDir, thread).write({ at: now(), ...line }));
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
    if (journal.isNew) pruneJournals(stateDir, (other) => mayBeAtWork(this.#repository, other));
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
    const waitMs = this.#writtenMs + GATHER_MS - monotonicMs();
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
    this.#writtenMs = monotonicMs();
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
    const line = `${JSON.stringify(entry, shorten)}\n`;
    this.#pending.push(line);
    this.#pendingBytes += Buffer.byteLength(line);
  }
}

/** For `JSON.stringify`: keeps the beginning of a long text, and says so. */
function shorten(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_TEXT_LENGTH) return value;
  return `${value.slice(0, MAX_TEXT_LENGTH)}\n[uwf left ${value.length - MAX_TEXT_LENGTH} characters out here]\n`;
}
