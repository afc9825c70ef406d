import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  rmdirSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { UwfError } from '../../errors.ts';
import { tryTo } from '../../or-else.ts';

/** The mark of an export: it names its files. */
const MARK = 'uwf-export.json';
/** Pages are made here, and put in their places when all are there. */
const PARTIAL = '.uwf-export-partial';
const INDEX = 'index.html';
const exportedFile = /^(?:index\.html|(?:pages|assets)\/[\w.-]+)$/;

/**
 * A folder that an export is written into: a new one, an empty one, or one with an earlier export and nothing else. The
 * earlier export is replaced when the new one is whole. `index.html` goes first and comes last.
 */
export class ExportFolder {
  readonly #folder: string;
  readonly #isNew: boolean;
  readonly #earlier: readonly string[];
  readonly #files = new Set<string>();

  /** @throws {UwfError} `export-folder-taken` if it has anything else, or is a symbolic link */
  constructor(folder: string) {
    this.#folder = folder;
    const stat = lstatSync(folder, { throwIfNoEntry: false });
    if (stat?.isDirectory() === false)
      throw taken(folder, stat.isSymbolicLink() ? 'it is a symbolic link' : 'it is no folder');
    this.#isNew = stat === undefined;
    this.#earlier = stat === undefined ? [] : earlierFiles(folder);
    // What a process left that was killed.
    rmSync(join(folder, PARTIAL), { recursive: true, force: true });
    for (const part of ['pages', 'assets']) mkdirSync(join(folder, PARTIAL, part), { recursive: true });
  }

  write(file: string, content: string | Uint8Array): void {
    this.#files.add(file);
    writeFileSync(join(this.#folder, PARTIAL, file), content);
  }

  append(file: string, content: string): void {
    this.#files.add(file);
    appendFileSync(join(this.#folder, PARTIAL, file), content);
  }

  /** Puts the files in their places. A process that dies meanwhile leaves no index, and what the next export replaces. */
  finish(): void {
    const files = [...this.#files].toSorted().filter((file) => file !== INDEX);
    this.#mark([...new Set([...files, INDEX, ...this.#earlier])]);
    rmSync(join(this.#folder, INDEX), { force: true });
    for (const file of this.#earlier) rmSync(join(this.#folder, file), { force: true });
    for (const file of [...files, INDEX]) {
      mkdirSync(join(this.#folder, dirname(file)), { recursive: true });
      renameSync(join(this.#folder, PARTIAL, file), join(this.#folder, file));
    }
    this.#mark([...files, INDEX]);
    rmSync(join(this.#folder, PARTIAL), { recursive: true });
  }

  /** Takes away what was written, before it is finished. */
  discard(): void {
    rmSync(join(this.#folder, PARTIAL), { recursive: true, force: true });
    // An error means that something else lies there by now, or a part of what was finished; why that failed is told.
    if (this.#isNew) tryTo(() => rmdirSync(this.#folder));
  }

  #mark(files: readonly string[]): void {
    const fresh = join(this.#folder, PARTIAL, MARK);
    writeFileSync(fresh, `${JSON.stringify({ files }, null, 1)}\n`);
    renameSync(fresh, join(this.#folder, MARK));
  }
}

/** The files of the export that is there. */
function earlierFiles(folder: string): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).filter(({ name }) => name !== PARTIAL);
  if (entries.length === 0) return [];
  const marked = new Set(readMark(folder));
  const files: string[] = [];
  for (const entry of entries) {
    if (entry.name === MARK && entry.isFile()) continue;
    const isPart = entry.isDirectory() && (entry.name === 'pages' || entry.name === 'assets');
    const inside = isPart ? readdirSync(join(folder, entry.name), { withFileTypes: true }) : [entry];
    for (const one of inside) {
      const file = isPart ? `${entry.name}/${one.name}` : one.name;
      if (!one.isFile() || !marked.has(file) || !exportedFile.test(file))
        throw taken(folder, `it has '${file}', which no export wrote`);
      files.push(file);
    }
  }
  return files;
}

/** The files that the mark of an earlier export names; none where there is no mark. */
function readMark(folder: string): unknown[] {
  const stat = lstatSync(join(folder, MARK), { throwIfNoEntry: false });
  if (stat?.isFile() !== true) return [];
  try {
    const mark: unknown = JSON.parse(readFileSync(join(folder, MARK), 'utf8'));
    const files = typeof mark === 'object' && mark !== null && 'files' in mark ? mark.files : [];
    return Array.isArray(files) ? files : [];
  } catch {
    return [];
  }
}

function taken(folder: string, reason: string): UwfError {
  return new UwfError(`cannot export to ${folder}: ${reason}`, {
    code: 'export-folder-taken',
    kind: 'data',
    hint: 'name a folder that is new or empty, or one with an earlier export and nothing else',
  });
}
