import {
  appendFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describeThread } from '../../engine/describe/describe.ts';
import type { EngineContext } from '../../engine/engine-context.ts';
import { UwfError } from '../../errors.ts';
import type { ObjectId } from '../../git/format/object-id.ts';
import type { Ref, RefName, RefStore, Repository, WantedRefs } from '../../git/repository.ts';
import { tryTo } from '../../or-else.ts';
import { findThread, listPointers } from '../../thread/find-thread.ts';
import { findStart } from '../../thread/thread-chain.ts';
import { assertDataError } from '../../thread/thread-errors.ts';
import {
  ACTIVE_PREFIX,
  HISTORY_PREFIX,
  isThreadId,
  parseThreadId,
  type ThreadId,
  type ThreadPointer,
} from '../../thread/thread-id.ts';

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

/** Threads with all threads below them that are here, and the ids of the related threads that are not among these. */
export async function withChildren(
  engine: EngineContext,
  threads: readonly ThreadPointer[],
): Promise<{ threads: Map<ThreadId, ThreadPointer>; others: ReadonlySet<string> }> {
  const found = new Map<ThreadId, ThreadPointer>();
  const others = new Set<string>((await listPointers(engine.repository)).map(({ id }) => id));
  const open = [...threads];
  for (let pointer = open.shift(); pointer !== undefined; pointer = open.shift()) {
    if (found.has(pointer.id)) continue;
    found.set(pointer.id, pointer);
    const { parent, children } = await relativesOf(engine, pointer.id);
    // They may not be here; prompts name them.
    if (parent !== null) others.add(parent);
    for (const caller of await callersOf(engine.repository, pointer)) others.add(caller);
    for (const child of children) {
      const here = await findThread(engine.repository, child);
      if (here !== undefined) open.push(here);
    }
  }
  for (const id of found.keys()) others.delete(id);
  return { threads: found, others };
}

type Relatives = { parent: ThreadId | null; children: ThreadId[] };

/** A damaged thread has none that can be read; its page says what is wrong. */
async function relativesOf(engine: EngineContext, thread: ThreadId): Promise<Relatives> {
  try {
    const { parent, calls } = await describeThread(engine, thread);
    return { parent, children: calls.map((call) => call.thread) };
  } catch (error) {
    assertDataError(error);
    return { parent: null, children: [] };
  }
}

/** The threads that called a thread, and those that called them, as the commits behind its start tell. */
async function callersOf(repository: Repository, { head }: ThreadPointer): Promise<ThreadId[]> {
  const callers: ThreadId[] = [];
  let start = await findStart(repository, head);
  // A start that has a parent continues a chain of its caller.
  for (let [from] = start?.commit.parents ?? []; from !== undefined; [from] = start?.commit.parents ?? []) {
    start = await findStart(repository, from);
    if (start !== undefined) callers.push(parseThreadId(start.node.id));
  }
  return callers;
}

/** Leaves the ids of threads out of what is written, such as that of the caller, which a child's prompt names. */
export function withoutIds(text: string, others: ReadonlySet<string>): string {
  return text.replaceAll(/\b[0-9A-HJKMNP-TV-Z]{26}\b/gi, (id) =>
    others.has(id.toUpperCase()) ? 'another thread' : id,
  );
}

/** A repository in which no other threads are: what is not there is on no page. */
export function onlyThreads(repository: Repository, threads: { has(id: ThreadId): boolean }): Repository {
  return {
    objects: repository.objects,
    refs: new RefsOfThreads(repository.refs, threads),
    location: repository.location,
    stateDir: repository.stateDir,
    committer: repository.committer,
    now: repository.now,
    close: () => Promise.resolve(),
  };
}

class RefsOfThreads implements RefStore {
  readonly #refs: RefStore;
  readonly #threads: { has(id: ThreadId): boolean };

  constructor(refs: RefStore, threads: { has(id: ThreadId): boolean }) {
    this.#refs = refs;
    this.#threads = threads;
  }

  async read(name: RefName): Promise<ObjectId | undefined> {
    return this.#isIn(name) ? this.#refs.read(name) : undefined;
  }

  async list(prefix: string, wanted: WantedRefs = {}): Promise<Ref[]> {
    const { where = () => true } = wanted;
    const listed = await this.#refs.list(prefix, { ...wanted, where: (name) => this.#isIn(name) && where(name) });
    // A store may give back more than is wanted.
    return listed.filter(({ name }) => this.#isIn(name));
  }

  update(): Promise<void> {
    return Promise.reject(new Error('an export changes no ref'));
  }

  #isIn(name: string): boolean {
    if (!name.startsWith(ACTIVE_PREFIX) && !name.startsWith(HISTORY_PREFIX)) return true;
    const id = name.slice(name.lastIndexOf('/') + 1);
    return isThreadId(id) && this.#threads.has(id);
  }
}
