import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Repository } from '../git/repository.ts';
import { readDerivedFile, tryToWriteDerivedFile } from '../git/system/state-files.ts';
import { namesIn } from '../git/system/files.ts';
import { parseJson } from '../json.ts';
import type { Shape } from '../shape.ts';
import { isThreadId, type ThreadId, type ThreadPointer } from './thread-id.ts';

/** A command that looks up more threads than this uses tables. */
export const MANY_THREADS = 100;

/** The number is raised when the value of a row changes its meaning. */
const FORM = 'listed 3';

/** A table is saved early when this many rows, and half of all, are new, so that a killed command does not lose them. */
const MANY_NEW = 1000;

type Head = Pick<ThreadPointer, 'id' | 'head'>;
/** The lines of a file, the offset of each, and the place of the last match. `added` has the lines that this process adds. */
type Part = { text: string; starts: readonly number[]; at: number; added: Map<ThreadId, string> };

/**
 * A cache of data about the heads of many threads, with a row for each. Commits never change, so a row is always right for
 * its head.
 *
 * A file for each thread would take 0.1 ms to open. The table has 32 files, by the last character of the id, which is random.
 * A row is a line `<thread> <head> <JSON>`. Rows are sorted by thread, and parsed when they are looked up. Rows of threads
 * that have advanced stay until they are replaced.
 */
export class HeadTable<T> {
  readonly #repository: Repository;
  readonly #is: Shape<T>;
  readonly #parts = new Map<string, Part>();
  #size = 0;
  #new = 0;

  constructor(repository: Repository, is: Shape<T>) {
    this.#repository = repository;
    this.#is = is;
  }

  get({ id, head }: Head): T | undefined {
    const part = this.#partOf(id);
    const row = part.added.get(id) ?? findRow(part, id);
    const begin = `${id} ${head} `;
    const value = row?.startsWith(begin) ? parseJson(row.slice(begin.length)) : undefined;
    return this.#is(value) ? value : undefined;
  }

  set({ id, head }: Head, value: T): void {
    this.#partOf(id).added.set(id, `${id} ${head} ${JSON.stringify(value)}\n`);
    this.#new += 1;
    if (this.#new >= MANY_NEW && this.#new * 2 >= this.#size + this.#new) this.save();
  }

  /**
   * Adds new rows to the files. Rows that another process has removed meanwhile stay removed: no text of a redacted thread may
   * come back. Errors of the disk are ignored.
   */
  save(): void {
    for (const [name, part] of this.#parts) {
      const path = part.added.size === 0 ? undefined : pathOf(this.#repository, name);
      if (path === undefined) continue;
      const rows = new Map(rowsOf(readRows(path)).map((row) => [row.slice(0, idLength), row]));
      for (const [id, row] of part.added) rows.set(id, row);
      const text = [...rows.values()].toSorted().join('');
      tryToWriteDerivedFile(path, FORM, text);
      this.#parts.set(name, partOf(text));
    }
    this.#size += this.#new;
    this.#new = 0;
  }

  #partOf(id: ThreadId): Part {
    const name = id.slice(-1);
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const path = pathOf(this.#repository, name);
    const part = partOf(path === undefined ? '' : readRows(path));
    this.#parts.set(name, part);
    this.#size += part.starts.length;
    return part;
  }
}

function partOf(text: string): Part {
  const starts: number[] = [];
  for (let at = 0, end = text.indexOf('\n'); end !== -1; at = end + 1, end = text.indexOf('\n', at)) starts.push(at);
  return { text, starts, at: starts.length, added: new Map() };
}

/** Finds the line of a thread. Most callers look threads up in order, so the lines beside the last match are tried first. */
function findRow(part: Part, id: ThreadId): string | undefined {
  const { text, starts } = part;
  const isBefore = (line: number): boolean => text.slice(starts[line], (starts[line] ?? 0) + idLength) < id;
  const isAt = (line: number): boolean => text.startsWith(id, starts[line] ?? Infinity);
  let low = part.at - 1;
  if (!isAt(low)) low = part.at + 1;
  if (!isAt(low)) {
    low = 0;
    for (let high = starts.length; low < high;) {
      const middle = (low + high) >>> 1;
      if (isBefore(middle)) low = middle + 1;
      else high = middle;
    }
    if (!isAt(low)) return undefined;
  }
  part.at = low;
  return text.slice(starts[low], starts[low + 1]);
}

/** The threads that the table has rows of, and the files that these are in. */
export function listTableRows(stateDir: string): { thread: ThreadId; path: string }[] {
  return namesIn(folderOf(stateDir)).flatMap((name) => {
    const path = join(folderOf(stateDir), name);
    return rowsOf(readRows(path))
      .map((row) => row.slice(0, idLength))
      .flatMap((id) => (isThreadId(id) ? [{ thread: id, path }] : []));
  });
}

/** Removes the file of the table that may have a row of a thread: the rows of others in it are read again. */
export function forgetInTable(stateDir: string, id: ThreadId): void {
  rmSync(join(folderOf(stateDir), id.slice(-1)), { recursive: true, force: true });
}

const idLength = 26;

/** The lines of a file; '' where it is not there, or damaged. */
function readRows(path: string): string {
  return readDerivedFile(path, FORM) ?? '';
}

function rowsOf(text: string): string[] {
  return text.match(/[^\n]+\n/g) ?? [];
}

function folderOf(stateDir: string): string {
  return join(stateDir, 'listed');
}

function pathOf({ stateDir }: Repository, name: string): string | undefined {
  return stateDir === undefined ? undefined : join(folderOf(stateDir), name);
}
