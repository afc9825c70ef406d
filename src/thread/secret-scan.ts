import { pointer } from '../cas/canonical.ts';
import { readCommitNodes, readNodeAt } from '../cas/commit-nodes.ts';
import type { NodeHash } from '../cas/hash.ts';
import type { StoredNode } from '../cas/node.ts';
import { PINNED_FOLDER } from '../cas/node-tree.ts';
import { ObjectMissing, ObjectTooLarge } from '../git/format/errors.ts';
import { isObjectId, type ObjectId } from '../git/format/object-id.ts';
import { pathAsText } from '../git/format/paths.ts';
import { kindOfMode, type TreeLine } from '../git/format/objects.ts';
import type { RefName, Repository } from '../git/repository.ts';
import {
  type ObjectReader,
  readAnyTree,
  readBlob,
  readCommit,
  readCommitData,
  readTreeIfAny,
} from '../git/stores/read.ts';
import { isJsonObject, type JsonValue } from '../json.ts';
import { inPlaceOf, isOfClass, orElse } from '../or-else.ts';
import { type Hit, marks, RedactionFailed, type Redactor } from '../redaction/redactor.ts';
import { builtIn, payloadOf } from '../schema/built-in.ts';
import { MAX_FILE_BYTES } from './draft-commit.ts';
import { EVERYWHERE, listPointers } from './find-thread.ts';
import { readSnapshot, WORKSPACE } from './step-files.ts';
import { findEventFile } from './thread-commit.ts';
import { assertDataError, nothingForDataError } from './thread-errors.ts';
import { PINS_REF, type ThreadId, type ThreadPointer } from './thread-id.ts';

/** Where a secret is stored. Never the secret. */
export type SecretPlace = SecretHit & {
  commit: ObjectId;
  /** Which step the commit is; null where it is none. */
  step: number | null;
  /** The node that has it; null for a file, a name or a message. */
  node: NodeHash | null;
  /** The path in the commit's tree; `message` for the commit's message. */
  file: string;
};

/** Where a file has a secret: its path, the line or its name, and the rule. */
export type FileHit = SecretHit & { file: string };

type ScannedCommit = {
  id: ObjectId;
  tree: ObjectId;
  step: number | null;
  nodes: Iterable<readonly [path: string, node: StoredNode]>;
  /** Commits of code whose files were there before it. */
  code: readonly ObjectId[];
};

/** Bound of the cache. A forgotten object is scanned again. */
const MAX_REMEMBERED = 500_000;

const builtIns: ReadonlySet<NodeHash> = new Set(Object.values(builtIn));

/** Scans stored objects for secrets, each blob once. Keeps places, never secrets. */
export class SecretScan {
  readonly #repository: { objects: ObjectReader };
  readonly #redactor: Redactor;
  readonly #clean = new Set<string>();
  readonly #found = new Map<string, readonly SecretHit[]>();

  constructor(repository: { objects: ObjectReader }, redactor: Redactor) {
    this.#repository = repository;
    this.#redactor = redactor;
  }

  /** Scans what a commit adds: its message, its nodes, and its files that are not in the code it is based on. */
  async scanCommit({ id: commit, tree, step, nodes, code }: ScannedCommit): Promise<SecretPlace[]> {
    const places: SecretPlace[] = [];
    const add = (file: string, node: NodeHash | null, hits: readonly SecretHit[]): void => {
      for (const hit of hits) places.push({ commit, step, node, file: this.#shown(file), ...hit });
    };
    add('message', null, await this.#hitsInCommit(commit));
    const listed = [...nodes];
    // Paths contain names of roles and tools. One scan tells that none has a secret.
    const inPaths = hitsInText(this.#redactor, listed.map(([path]) => path).join('\n')).length > 0;
    for (const [path, node] of listed) {
      if (inPaths) add(path, null, hitsInText(this.#redactor, path));
      if (!builtIns.has(node.hash)) add(path, node.hash, this.#hitsInNode(node));
    }
    const addFile: AddHits = (file, hits) => add(file, null, hits);
    if (step !== null) await this.#scanSnapshots(commit, code, addFile);
    for (const { name, mode, id } of await readAnyTree(this.#repository.objects, tree)) {
      if (name === PINNED_FOLDER) await this.#scanEntry({ name, mode, id }, [], '', addFile);
    }
    return places;
  }

  /** Scans the snapshot of a step for what differs from the commit that was checked out. */
  async #scanSnapshots(step: ObjectId, code: readonly ObjectId[], add: AddHits): Promise<void> {
    const { objects } = this.#repository;
    const signatures = await readCommit(objects, step);
    for (const id of code) {
      const snapshot = await readSnapshot(objects, id, signatures).catch(inPlaceOf(ObjectMissing, undefined));
      if (snapshot === undefined) continue;
      add(WORKSPACE, hitsInText(this.#redactor, snapshot.message));
      const others = await this.#treesOf(snapshot.parents);
      await this.#scanTree(snapshot.tree, others, '', inWorkspace(add));
    }
  }

  /** Scans what a commit of the user's code adds to its parents. */
  async scanCode(id: ObjectId): Promise<SecretPlace[]> {
    const places: SecretPlace[] = [];
    const add = (file: string, hits: readonly SecretHit[]): void => {
      for (const hit of hits) places.push({ commit: id, step: null, node: null, file: this.#shown(file), ...hit });
    };
    add('message', await this.#hitsInCommit(id));
    const { tree, parents } = await readCommit(this.#repository.objects, id);
    await this.#scanTree(tree, await this.#treesOf(parents), '', add);
    return places;
  }

  async scanFiles(tree: ObjectId, others: readonly ObjectId[]): Promise<FileHit[]> {
    const found: FileHit[] = [];
    await this.#scanTree(tree, others, '', (file, hits) => {
      for (const hit of hits) found.push({ file: this.#shown(file), ...hit });
    });
    return found;
  }

  async #hitsInCommit(id: ObjectId): Promise<readonly SecretHit[]> {
    const text = textOf(await readCommitData(this.#repository.objects, id));
    const blank = text.indexOf('\n\n');
    const hits = hitsInText(this.#redactor, text.slice(blank + 2));
    return [...hitsInText(this.#redactor, text.slice(0, blank)).map(({ rule }) => ({ at: 'header', rule })), ...hits];
  }

  #hitsInNode(node: StoredNode): readonly SecretHit[] {
    return this.#remembered(`node ${node.oid}`, () => {
      const text = node.type === builtIn.content ? payloadOf(node, 'content') : undefined;
      if (text !== undefined && text.refs === undefined) return hitsInText(this.#redactor, text.text);
      return hitsInValue(this.#redactor, node.payload);
    });
  }

  #remembered(key: string, look: () => readonly SecretHit[]): readonly SecretHit[] {
    if (this.#clean.has(key)) return [];
    const hits = this.#found.get(key) ?? look();
    if (hits.length > 0) this.#found.set(key, hits);
    else this.#remember(key);
    return hits;
  }

  #remember(key: string): void {
    if (this.#clean.size >= MAX_REMEMBERED) this.#clean.clear();
    this.#clean.add(key);
  }

  /** @returns whether nothing was found */
  async #scanTree(id: ObjectId, others: readonly ObjectId[], path: string, add: AddHits): Promise<boolean> {
    if (others.includes(id) || this.#clean.has(id)) return true;
    const elsewhere = new Map<string, ObjectId[]>();
    for (const other of others) {
      for (const { name, id: same } of await readTreeIfAny(this.#repository.objects, other))
        elsewhere.set(name, [...(elsewhere.get(name) ?? []), same]);
    }
    let isClean = true;
    for (const line of await readAnyTree(this.#repository.objects, id)) {
      isClean = (await this.#scanEntry(line, elsewhere.get(line.name) ?? [], path, add)) && isClean;
    }
    // Files that are in other trees were not scanned.
    if (isClean && others.length === 0) this.#remember(id);
    return isClean;
  }

  async #scanEntry(line: TreeLine, others: readonly ObjectId[], path: string, add: AddHits): Promise<boolean> {
    const kind = kindOfMode(line.mode);
    if (kind === 'submodule' || others.includes(line.id)) return true;
    const own = `${path}${line.name}`;
    const inName = isObjectId(line.name) ? [] : hitsInText(this.#redactor, own);
    if (inName.length > 0) add(own, [{ at: 'name', rule: inName[0]?.rule ?? '' }]);
    if (kind === 'folder') return (await this.#scanTree(line.id, others, `${own}/`, add)) && inName.length === 0;
    const hits = await this.#hitsInFile(line.id, own, others);
    add(own, hits);
    return hits.length === 0 && inName.length === 0;
  }

  /** @param others what is under its name in other trees */
  async #hitsInFile(id: ObjectId, path: string, others: readonly ObjectId[]): Promise<readonly SecretHit[]> {
    if (this.#clean.has(`file ${id}`)) return [];
    const text = await this.#textOf(id);
    // An unscanned file is reported like a secret.
    if (text === undefined) return [{ at: 'line 1', rule: 'too-large-to-scan' }];
    const hits = this.#remembered(`file ${id}`, () => hitsInText(this.#redactor, text));
    if (hits.length === 0) return hits;
    // The rule may be allowed at this path, and the secret may be no news.
    const before = await Promise.all(others.map((other) => this.#textOf(other).catch(nothingForDataError)));
    return hitsInText(
      this.#redactor,
      text,
      path,
      before.filter((other) => other !== undefined),
    );
  }

  /** @returns `undefined` if it is too large */
  async #textOf(file: ObjectId): Promise<string | undefined> {
    const reading = readBlob(this.#repository.objects, file, { maxBytes: MAX_FILE_BYTES });
    const data = await reading.catch(inPlaceOf(ObjectTooLarge, undefined));
    return data && textOf(data);
  }

  async #treesOf(commits: readonly ObjectId[]): Promise<ObjectId[]> {
    const trees: ObjectId[] = [];
    for (const id of commits) {
      const commit = await readCommit(this.#repository.objects, id).catch(inPlaceOf(ObjectMissing, undefined));
      if (commit) trees.push(commit.tree);
    }
    return trees;
  }

  /** A path with secrets redacted. @param path in Latin-1 */
  #shown(path: string): string {
    return this.#redactor.redactText(pathAsText(path)).text;
  }
}

type AddHits = (file: string, hits: readonly SecretHit[]) => void;

/** Names files of the work tree as a step has them. Exceptions of the configuration name them as the work tree does. */
function inWorkspace(add: AddHits): AddHits {
  return (file, hits) => add(`${WORKSPACE}/${file}`, hits);
}

/** Decodes a file as UTF-8 or UTF-16, else as Latin-1. */
function textOf(data: Uint8Array): string {
  const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.toString('utf16le');
  const text = bytes.toString('utf8');
  return text.includes('\ufffd') ? bytes.toString('latin1') : text;
}

/** The place of a secret in a blob, a message or a list of names, and the rule that found it. Never the secret. */
export type SecretHit = {
  /** A JSON pointer into the payload of a node, or the number of a line. */
  at: string;
  rule: string;
};

/**
 * Finds the secrets in a text.
 * @param path its file, for rules that are allowed there
 * @param before what the file was before: a secret that was there already is not found
 */
export function hitsInText(
  redactor: Redactor,
  text: string,
  path?: string,
  before: readonly string[] = [],
): SecretHit[] {
  const all = searched(() => redactor.redactText(text, path).hits, unsearched);
  const known = new Set(all.length === 0 ? [] : before.flatMap((old) => secretsIn(redactor, old)));
  const hits = known.size === 0 ? all : all.filter((hit) => !known.has(secretOf(text, hit)));
  let line = 1;
  let passed = 0;
  return hits.map(({ rule, start }) => {
    for (let at = text.indexOf('\n', passed); at !== -1 && at < start; at = text.indexOf('\n', at + 1)) {
      line += 1;
      passed = at + 1;
    }
    return { at: `line ${line}`, rule };
  });
}

/** Finds the secrets in the strings and keys of a value. Places are pointers into the redacted value. */
export function hitsInValue(redactor: Redactor, value: JsonValue): SecretHit[] {
  const redacted = searched(() => redactor.redactValue(value), undefined);
  if (redacted === undefined) return unsearched.map(({ rule }) => ({ at: '', rule }));
  const found: SecretHit[] = [];
  if (redacted.hits > 0) compare(value, redacted.value, [], found);
  return found;
}

function secretsIn(redactor: Redactor, text: string): string[] {
  return searched(() => redactor.redactText(text).hits, []).map((hit) => secretOf(text, hit));
}

/** A secret with the rule that knows it: the same value under another name is another one. */
function secretOf(text: string, { rule, start, end }: Hit): string {
  return `${rule} ${text.slice(start, end)}`;
}

/** A text that cannot be scanned is reported like a secret. */
const unsearched = [{ rule: 'could-not-be-searched', start: 0, end: 0 }];

function searched<T>(search: () => T, otherwise: T): T {
  return orElse(search, otherwise, isOfClass(RedactionFailed));
}

function compare(before: JsonValue, after: JsonValue, path: (string | number)[], found: SecretHit[]): void {
  if (typeof before === 'string' && typeof after === 'string') addMarks(before, after, path, found);
  else if (Array.isArray(before) && Array.isArray(after)) {
    for (const [place, item] of before.entries()) compare(item, after[place] ?? null, [...path, place], found);
  } else if (isJsonObject(before) && isJsonObject(after)) {
    const entries = Object.entries(after);
    for (const [place, [key, item]] of Object.entries(before).entries()) {
      const [name, other] = entries[place] ?? [key, null];
      addMarks(key, name, [...path, name], found);
      compare(item, other, [...path, name], found);
    }
  }
}

function addMarks(before: string, after: string, path: (string | number)[], found: SecretHit[]): void {
  if (before === after) return;
  const old = new Set(before.match(marks));
  for (const [text, rule = ''] of after.matchAll(marks)) if (!old.has(text)) found.push({ at: pointer(path), rule });
}

/** What was found in one commit. */
export type ScanFinding = {
  /** The first thread that has the commit; `null` for other refs. */
  thread: ThreadId | null;
  ref: RefName;
  places: readonly SecretPlace[];
  /** Why something could not be scanned. */
  unread?: string;
};

/** Other refs: artifacts that no step has taken in, registered workflows and types. */
const OTHER_PREFIXES = ['refs/uwf/scratch/', 'refs/uwf/schemas/', 'refs/workflows/'];

type Place = { ref: RefName; thread: ThreadId | null };

/**
 * Scans everything that is stored for secrets, or some threads with their callers and children. Yields a result for each
 * commit, threads in the order of their ids. Shared commits are scanned once.
 * @param threads default: all threads, and the other refs
 */
export async function* scanThreads(
  repository: Repository,
  scan: SecretScan,
  threads?: readonly ThreadPointer[],
): AsyncGenerator<ScanFinding, void, void> {
  const passed = new Set<ObjectId>();
  const further: (Place & { id: ObjectId })[] = [];
  for (const { id, ref, head } of threads ?? (await listPointers(repository, EVERYWHERE))) {
    yield* scanChain(repository, scan, head, { ref, thread: id }, passed, further);
  }
  if (threads === undefined) {
    for (const { name, id } of await otherRefs(repository)) {
      yield* scanChain(repository, scan, id, { ref: name, thread: null }, passed, []);
    }
  }
  // Threads without a ref come last, so that every other thread is reported under its own id.
  for (let next = further.shift(); next !== undefined; next = further.shift()) {
    yield* scanChain(repository, scan, next.id, next, passed, further);
  }
}

async function otherRefs({ refs }: Repository): Promise<{ name: RefName; id: ObjectId }[]> {
  const found = await Promise.all(OTHER_PREFIXES.map((prefix) => refs.list(prefix)));
  const pins = await refs.read(PINS_REF);
  return [...found.flat(), ...(pins === undefined ? [] : [{ name: PINS_REF, id: pins }])];
}

/** Scans a thread down to its start, or a registry down to its first version. */
async function* scanChain(
  repository: Repository,
  scan: SecretScan,
  from: ObjectId,
  { ref, thread }: Place,
  passed: Set<ObjectId>,
  further: (Place & { id: ObjectId })[],
): AsyncGenerator<ScanFinding, void, void> {
  for (let at: ObjectId | undefined = from; at !== undefined && !passed.has(at);) {
    passed.add(at);
    try {
      const { places, previous, others } = await scanCommit(repository, scan, at);
      further.push(...others.map((id) => ({ id, ref, thread })));
      yield { ref, thread, places };
      at = previous;
    } catch (error) {
      assertDataError(error);
      yield { ref, thread, places: [], unread: error.message };
      return;
    }
  }
}

/** Scans what one commit adds, of a thread or of code. */
export async function scanOneCommit(repository: Repository, scan: SecretScan, id: ObjectId): Promise<SecretPlace[]> {
  return (await scanCommit(repository, scan, id)).places;
}

type Scanned = { places: SecretPlace[]; previous: ObjectId | undefined; others: ObjectId[] };

async function scanCommit(repository: Repository, scan: SecretScan, id: ObjectId): Promise<Scanned> {
  const { tree, parents } = await readCommit(repository.objects, id);
  const { entries } = await readCommitNodes(repository, id);
  if (entries === undefined) return { places: await scan.scanCode(id), previous: undefined, others: [] };
  const kind = findEventFile(entries)?.kind;
  const others: ObjectId[] = [];
  const code: ObjectId[] = [];
  for (const parent of parents) {
    const isOwn = (await readCommitNodes(repository, parent)).entries !== undefined;
    (isOwn ? others : code).push(parent);
  }
  const nodes: (readonly [string, StoredNode])[] = [];
  for (const entry of entries) nodes.push([entry.path, await readNodeAt(repository, entry)]);
  const own = nodes.find(([path]) => path === 'step.json')?.[1];
  const step = own === undefined ? null : payloadOf(own, 'thread-step').number;
  const places = await scan.scanCommit({ id, tree, step, nodes, code });
  // The parents of an artifact commit are pinned commits; the parent of a child's start is its caller.
  const previous = kind === 'start' ? undefined : others.shift();
  return { places, previous, others };
}
