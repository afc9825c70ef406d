import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { isObjectId, type ObjectId } from '../../git/format/object-id.ts';
import type { Repository } from '../../git/repository.ts';
import { readDerivedJson, tryToWriteDerivedFile } from '../../git/system/derived-file.ts';
import { namesIn } from '../../git/system/names-in.ts';
import { isString, type Shape } from '../../shape.ts';
import type { ThreadPointer } from '../format/thread-refs.ts';
import { isThreadId, type ThreadId } from '../thread-id.ts';

/** What a command looks up of more threads than this, it looks up in tables. */
export const MANY_THREADS = 100;

/** What there are tables of. A number is raised when the value of a row changes its meaning. */
const forms = { starts: 'starts 1', listed: 'listed 1' } as const;

/** A table is saved early when this many rows, and half of all, are new: what a killed command has read is not lost. */
const MANY_NEW = 1000;

type TableKind = keyof typeof forms;
type Head = Pick<ThreadPointer, 'id' | 'head'>;
type Row = [ThreadId, ObjectId, unknown];
/** `added` are the rows that this process found. */
type Part = { rows: Map<ThreadId, Row>; added: Map<ThreadId, Row> };

/**
 * What this machine keeps of the heads of many threads: a row for each, true of that head for ever.
 *
 * To open a file for each thread takes 0.1 ms. A table has 32 parts, by the last character of the ids, which is random;
 * a part is one file. Rows of threads that have advanced stay until they are replaced.
 */
export class HeadTable<T> {
  readonly #repository: Repository;
  readonly #kind: TableKind;
  readonly #is: Shape<T>;
  readonly #parts = new Map<string, Part>();
  #size = 0;
  #new = 0;

  constructor(repository: Repository, kind: TableKind, is: Shape<T>) {
    this.#repository = repository;
    this.#kind = kind;
    this.#is = is;
  }

  get({ id, head }: Head): T | undefined {
    const row = this.#partOf(id).rows.get(id);
    return row?.[1] === head && this.#is(row[2]) ? row[2] : undefined;
  }

  set({ id, head }: Head, value: T): void {
    const part = this.#partOf(id);
    part.rows.set(id, [id, head, value]);
    part.added.set(id, [id, head, value]);
    this.#new += 1;
    if (this.#new >= MANY_NEW && this.#new * 2 >= this.#size + this.#new) this.save();
  }

  /**
   * Adds new rows to the files. Rows that another process has removed meanwhile stay removed: a thread that was redacted leaves
   * no line of its text. Errors of the disk are ignored.
   */
  save(): void {
    for (const [name, { added }] of this.#parts) {
      const path = added.size === 0 ? undefined : pathOf(this.#repository, `${name}.${this.#kind}`);
      if (path === undefined) continue;
      const rows = new Map(readRows(path, this.#kind).map((row) => [row[0], row]));
      for (const [id, row] of added) rows.set(id, row);
      tryToWriteDerivedFile(path, forms[this.#kind], JSON.stringify([...rows.values()]));
      added.clear();
    }
    this.#size += this.#new;
    this.#new = 0;
  }

  #partOf(id: ThreadId): Part {
    const name = id.slice(-1);
    const known = this.#parts.get(name);
    if (known !== undefined) return known;
    const path = pathOf(this.#repository, `${name}.${this.#kind}`);
    const rows = path === undefined ? [] : readRows(path, this.#kind);
    const part: Part = { rows: new Map(rows.map((row) => [row[0], row])), added: new Map() };
    this.#parts.set(name, part);
    this.#size += rows.length;
    return part;
  }
}

/** The threads that tables have rows of, and the files that these are in. */
export function listTableRows(stateDir: string): { thread: ThreadId; path: string }[] {
  return namesIn(folderOf(stateDir)).flatMap((name) => {
    const path = join(folderOf(stateDir), name);
    const kind = kinds.find((each) => name.endsWith(`.${each}`));
    return kind === undefined ? [] : readRows(path, kind).map(([thread]) => ({ thread, path }));
  });
}

/** Removes the parts of tables that may have a row of a thread: the rows of others in them are read again. */
export function forgetInTables(stateDir: string, id: ThreadId): void {
  for (const kind of kinds)
    rmSync(join(folderOf(stateDir), `${id.slice(-1)}.${kind}`), { recursive: true, force: true });
}

const kinds: readonly TableKind[] = ['starts', 'listed'];

function readRows(path: string, kind: TableKind): Row[] {
  return readDerivedJson(path, forms[kind], isRows) ?? [];
}

function isRows(value: unknown): value is Row[] {
  return (
    Array.isArray(value) &&
    value.every(
      (row: unknown) =>
        Array.isArray(row) && isString(row[0]) && isThreadId(row[0]) && isString(row[1]) && isObjectId(row[1]),
    )
  );
}

function folderOf(stateDir: string): string {
  return join(stateDir, 'facts', 'many');
}

function pathOf({ stateDir }: Repository, name: string): string | undefined {
  return stateDir === undefined ? undefined : join(folderOf(stateDir), name);
}
