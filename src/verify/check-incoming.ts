import { prepareHashing } from '../cas/hash.ts';
import { lookupOf } from '../cas/lookup.ts';
import { countOf, NODE_LIMITS, whyNoJson } from '../cas/canonical.ts';
import { PINNED_FOLDER } from '../cas/node-tree.ts';
import { typePath } from '../cas/scratch.ts';
import { type Commit, kindOfMode, parseCommit, readTreeLines, type TreeLine } from '../git/format/objects.ts';
import { CorruptObject, ObjectTooLarge } from '../git/format/errors.ts';
import { type GitObject, type ObjectId, objectIdBytes } from '../git/format/object-id.ts';
import { quotePath } from '../git/format/paths.ts';
import type { ObjectStore, Repository } from '../git/repository.ts';
import { ObjectBatch } from '../git/stores/publish.ts';
import { readCommit, readTree, readTyped } from '../git/stores/read.ts';
import type { IncomingObjects } from '../git/transport/remote.ts';
import { orElse } from '../or-else.ts';
import { MAX_COMMIT_BYTES, MAX_FILE_BYTES, MAX_PARENTS } from '../thread/draft-commit.ts';
import { asFault } from '../thread/thread-errors.ts';
import { type ThreadId, threadTimeMs } from '../thread/thread-id.ts';
import { validateWorkflow } from '../workflow/check/validate-workflow.ts';
import { loadWorkflow, writeWorkflowTree } from '../workflow/nodes.ts';
import { checkNodes } from './check-commit.ts';
import { attempt, firstFault, type ReportFault, VerifiedCommits } from './find-chain.ts';
import { type CheckedCommit, KnownNodes, NodeCache, readFiles } from './read-checked.ts';
import { TimeBudget } from './step-history.ts';
import { type Origin, Verification } from './verification.ts';
import { checkHistoryRef } from './verify-threads.ts';

/** A ref of a remote whose name has been parsed. */
export type IncomingTip = {
  /** The remote's name for it. */
  ref: string;
  id: ObjectId;
  thread?: { id: ThreadId; isHistory: boolean };
  /** The workflow, if it is the ref of a registry. */
  workflow?: string;
};

export type CheckOptions = {
  limits?: Partial<IncomingLimits>;
  /** Whether files of recorded work trees and of code may be missing: the repository is a partial clone. */
  mayLackFiles?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Gets a line after every {@link TOLD_AFTER} commits of a thread. */
  onProgress?: ((line: string) => void) | undefined;
};

/** Commits per report of progress: they take half a second. */
const TOLD_AFTER = 250;

/** Clocks are wrong by days, and a thread that one machine starts has to go on at another one. */
const MAX_AHEAD_MS = 30 * 86_400_000;
/** The longest reason that is returned. It contains names from the remote. */
const MAX_REASON = 500;

/**
 * Checks what a fetch brought, before any ref of this repository leads to it. It has to pass the checks of `uwf thread verify`,
 * within limits of memory and time. What git would not take cannot be read from `view`.
 *
 * Commits that local refs reach were checked before and are not checked again. Commits that tips share are checked once.
 * Nothing is written but this repository's lookup, and nothing is run but the rules of workflows, in their sandbox. Each tip is checked
 * by itself.
 * @param repository this repository
 * @param view reads the fetched objects and those of the repository; its refs are the local ones
 * @returns what is wrong with each unsound tip, by its ref, in printable characters
 * @throws the reason of `signal` when that is aborted
 */
export async function checkIncoming(
  repository: Repository,
  view: Repository,
  tips: readonly IncomingTip[],
  options: CheckOptions,
): Promise<Map<string, string>> {
  const check = await createCheck(repository, view, options);
  const faults = new Map<string, string>();
  for (const tip of tips) {
    options.signal?.throwIfAborted();
    const fault = await check(tip).catch((error: unknown) => {
      options.signal?.throwIfAborted();
      return asFault(error);
    });
    if (fault !== undefined) faults.set(tip.ref, printable(fault));
  }
  return faults;
}

/** Returns what is wrong with a tip, or `undefined`. */
type Check = (tip: IncomingTip) => Promise<string | undefined>;

async function createCheck(local: Repository, view: Repository, options: CheckOptions): Promise<Check> {
  const limits: IncomingLimits = { ...INCOMING_LIMITS, ...options.limits };
  const ofThreads = await VerifiedCommits.of(local, 'threads');
  const ofWorkflows = await VerifiedCommits.of(local, 'workflows');
  const bounded: Repository = { ...view, objects: boundedObjects(view.objects, limits) };
  const carried = new CarriedObjects(view.objects, local.objects, limits, options.mayLackFiles);
  const budget = new TimeBudget();
  const origin: Origin = {
    async isKnown(id) {
      options.signal?.throwIfAborted();
      return ofThreads.has(id);
    },
    lookup: lookupOf(local),
    checkObjects: (commit, report) => carried.checkCommit(commit, report),
    checkCode: (id, report) => carried.checkCode(id, report),
    limits,
  };
  const onCommit = (count: number, of: number): void => {
    options.signal?.throwIfAborted();
    if (count % TOLD_AFTER === 0) options.onProgress?.(`checked ${count} of ${of} commits`);
  };
  const threads = new Verification(bounded, { origin, budget, onCommit });
  const registries: RegistryCheck = {
    budget,
    cache: new NodeCache(bounded),
    isVerified: (id) => ofWorkflows.has(id),
  };
  return async ({ ref, id, thread, workflow }) => {
    if (workflow !== undefined) return checkRegistry(registries, workflow, id);
    if (thread === undefined) return 'uwf has no use for a ref of this kind';
    if (threadTimeMs(thread.id) > view.now() + MAX_AHEAD_MS) {
      return `by its id it starts at ${new Date(threadTimeMs(thread.id)).toISOString()}, more than 30 days from now`;
    }
    const wrong = await threads.faultOf(id);
    if (wrong !== undefined || !thread.isHistory) return wrong;
    return (await checkHistoryRef(bounded, thread.id, ref, id))[0]?.what;
  };
}

function printable(text: string): string {
  const shown = text.slice(0, MAX_REASON).replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, '\ufffd');
  return text.length > MAX_REASON ? `${shown}…` : shown;
}

/** The size of a tree, with all folders below it. */
type Extent = { files: number; depth: number };

/** Bound of the caches. A forgotten object is checked again. */
const MAX_REMEMBERED = 200_000;
/** A larger file is not read: only its size is checked. */
const MAX_READ_BYTES = 4096;

/**
 * Checks that the objects of a thread that are not uwf's are there and within limits: recorded files, pinned objects, commits of
 * the user's code. git has checked how they are made.
 *
 * Nothing is executed or checked out. Shared objects are checked once.
 */
export class CarriedObjects {
  readonly #objects: ObjectStore;
  readonly #local: Pick<ObjectStore, 'has'>;
  readonly #limits: IncomingLimits;
  readonly #mayLackFiles: boolean;
  readonly #trees = new Map<ObjectId, Extent>();
  readonly #files = new Set<ObjectId>();
  readonly #code = new Set<ObjectId>();
  #codeObjects = 0;

  /**
   * @param objects the fetched objects and those of this repository
   * @param local the objects of this repository
   * @param mayLackFiles whether files may be missing, as those of a partial clone are
   */
  constructor(
    objects: ObjectStore,
    local: Pick<ObjectStore, 'has'>,
    limits: IncomingLimits,
    mayLackFiles: boolean = false,
  ) {
    this.#objects = objects;
    this.#local = local;
    this.#limits = limits;
    this.#mayLackFiles = mayLackFiles;
  }

  /** Checks that a commit of a thread can be printed, and the folders of its tree that contain no nodes. */
  async checkCommit({ commit: { id, commit } }: CheckedCommit, report: ReportFault): Promise<void> {
    await attempt(report, null, async () => {
      if (!isPlainText(await this.#readCommit(id))) {
        report(null, 'it is not UTF-8 without control characters, which could do anything to a terminal');
      }
      for (const { name, mode, id: child } of await readTree(this.#objects, commit.tree)) {
        if (name === PINNED_FOLDER && mode === '040000') await this.#checkTree(child, name, report);
      }
    });
  }

  /** Checks a commit of the user's code, with the history that this repository does not have yet. */
  async checkCode(head: ObjectId, report: ReportFault): Promise<void> {
    await attempt(report, null, () => this.#walkCode(head, report));
  }

  async #walkCode(head: ObjectId, report: ReportFault): Promise<void> {
    const waiting = [head];
    for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
      if (this.#code.has(id) || (await this.#local.has(id))) continue;
      this.#codeObjects += 1;
      if (this.#codeObjects > this.#limits.maxCodeObjects) {
        return report(
          null,
          `it brings more than ${this.#limits.maxCodeObjects} objects of code; fetch the code itself first`,
        );
      }
      const { tree, parents } = parseCommit(await this.#readCommit(id));
      if ((await this.#checkTree(tree, `the files of ${id}`, report)) === undefined) return;
      remember(this.#code, id);
      waiting.push(...parents);
    }
  }

  #readCommit(id: ObjectId): Promise<Uint8Array> {
    return readTyped(this.#objects, id, 'commit', { maxBytes: this.#limits.maxCommitBytes });
  }

  /** @returns the size of the tree; `undefined` if a fault was reported */
  async #checkTree(id: ObjectId, path: string, report: ReportFault, depth = 1): Promise<Extent | undefined> {
    const known = this.#trees.get(id);
    if (known) return known;
    const { maxDepth, maxFiles, maxObjectBytes } = this.#limits;
    if (depth > maxDepth) return fail(report, path, `its folders lie more than ${maxDepth} deep`);
    const data = await readTyped(this.#objects, id, 'tree', { maxBytes: maxObjectBytes });
    const entries = readTreeLines(data, objectIdBytes(this.#objects.format));
    if (entries === undefined) return fail(report, path, 'the tree is cut off');
    const isLocal = await this.#local.has(id);
    const extent: Extent = { files: entries.length, depth: 1 };
    for (const entry of entries) {
      // The files of a folder that is here are here, too: most files of a snapshot.
      if (isLocal && kindOfMode(entry.mode) !== 'folder') continue;
      const below = await this.#checkEntry(entry, `${path}/${entry.name}`, report, depth);
      if (below === undefined) return undefined;
      extent.files += below.files;
      extent.depth = Math.max(extent.depth, below.depth + 1);
    }
    if (extent.files > maxFiles) return fail(report, path, `it has more than ${maxFiles} files`);
    if (extent.depth > maxDepth) return fail(report, path, `its folders lie more than ${maxDepth} deep`);
    this.#trees.set(id, extent);
    if (this.#trees.size > MAX_REMEMBERED) this.#trees.clear();
    return extent;
  }

  async #checkEntry(
    { id, mode }: TreeLine,
    path: string,
    report: ReportFault,
    depth: number,
  ): Promise<Extent | undefined> {
    const nothing: Extent = { files: 0, depth: 0 };
    const kind = kindOfMode(mode);
    if (kind === 'submodule') return nothing;
    if (kind === 'folder') return this.#checkTree(id, path, report, depth + 1);
    if (this.#mayLackFiles && !(await this.#objects.has(id))) return nothing;
    if (!this.#files.has(id)) await this.#measure(id);
    remember(this.#files, id);
    return nothing;
  }

  /** Checks that an object exists, is a file and is not too large, without reading large ones. */
  async #measure(id: ObjectId): Promise<void> {
    try {
      await readTyped(this.#objects, id, 'blob', { maxBytes: MAX_READ_BYTES });
    } catch (error) {
      if (!(error instanceof ObjectTooLarge)) throw error;
      const isTooLarge = error.bytes > this.#limits.maxFileBytes && !(await this.#local.has(id));
      if (isTooLarge) throw new ObjectTooLarge(id, error.bytes, this.#limits.maxFileBytes);
      if (error.type !== 'blob') await readTyped(this.#objects, id, 'blob', { maxBytes: this.#limits.maxFileBytes });
    }
  }
}

/** Tells whether a commit is safe to print on a terminal. */
function isPlainText(data: Uint8Array): boolean {
  return orElse(() => !/[^\P{Cc}\t\n]/u.test(new TextDecoder('utf-8', { fatal: true }).decode(data)), false);
}

function fail(report: ReportFault, path: string, what: string): undefined {
  report(quotePath(path), what);
  return undefined;
}

function remember(set: Set<ObjectId>, id: ObjectId): void {
  if (set.size >= MAX_REMEMBERED) set.clear();
  set.add(id);
}

/** A registry with more new versions is refused. */
const MAX_REGISTRATIONS = 10_000;
const WORKFLOW_FILE = 'workflow/workflow.json';

type RegistryCheck = {
  budget: TimeBudget;
  cache: NodeCache;
  /** Tells a commit of a registry that was verified before, with its history. */
  isVerified: (id: ObjectId) => Promise<boolean>;
};

/**
 * Checks all new versions of a workflow that the head of its registry reaches: each commit has to be as `uwf workflow add`
 * makes it.
 * @returns the first fault, or `undefined`
 */
export async function checkRegistry(check: RegistryCheck, name: string, head: ObjectId): Promise<string | undefined> {
  await prepareHashing();
  const waiting = [head];
  const met = new Set(waiting);
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    const commitId = id;
    if (await check.isVerified(commitId)) continue;
    const { report, reason } = firstFault(commitId);
    const commit = await attempt(report, null, () => readCommit(check.cache.repository.objects, commitId));
    if (commit) await attempt(report, null, () => checkVersion(check, name, commit, report));
    const wrong = reason();
    if (wrong !== undefined) return wrong;
    const more = (commit?.parents ?? []).filter((parent) => !met.has(parent));
    for (const parent of more) met.add(parent);
    waiting.push(...more);
    if (met.size > MAX_REGISTRATIONS) return `it has more than ${MAX_REGISTRATIONS} new versions`;
  }
  return undefined;
}

async function checkVersion(
  { budget, cache }: RegistryCheck,
  name: string,
  { tree }: Commit,
  report: ReportFault,
): Promise<void> {
  const { repository } = cache;
  const { index, pinned } = await readFiles(repository, tree, report);
  const entry = index.find(({ path }) => path === WORKFLOW_FILE);
  if (entry === undefined) return report(null, 'it holds no workflow');
  const known = new KnownNodes(cache);
  for (const { path, hash } of index) {
    const isExpected = path.startsWith('workflow/') || path === typePath(hash);
    if (!isExpected) report(path, 'nothing accounts for a file of this name');
  }
  const nodes = await known.addAll(index, report);
  if (pinned.length > 0) report(null, 'it holds what no workflow has');
  await checkNodes(nodes, known, new Set(), report);
  const definition = await attempt(report, WORKFLOW_FILE, () => loadWorkflow(known, entry.hash));
  if (definition === undefined) return;
  if (definition.name !== name) report(WORKFLOW_FILE, `it is the workflow '${definition.name}', not '${name}'`);
  const { diagnostics } = await validateWorkflow(definition);
  const mistake = diagnostics.find(({ severity }) => severity === 'error');
  if (mistake) return report(WORKFLOW_FILE, `${mistake.path}: ${mistake.message}`);
  const folder = (await readTree(repository.objects, tree)).find((item) => item.name === 'workflow');
  const expected = writeWorkflowTree(new ObjectBatch(repository.objects.format), definition).tree;
  if (folder?.id !== expected) report('workflow', `it is ${folder?.id}; stored anew the workflow is ${expected}`);
  const fault = await budget.faultOf(entry.hash, definition);
  if (fault !== undefined) report(WORKFLOW_FILE, fault);
}

export type IncomingLimits = {
  /** A node, a tree, an index. */
  maxObjectBytes: number;
  maxCommitBytes: number;
  /** Lists, maps and values of one node. */
  maxJsonValues: number;
  maxJsonDepth: number;
  maxParents: number;
  /** A file that a step recorded or that an artifact pins. */
  maxFileBytes: number;
  /** Files and folders of a recorded work tree or a pinned tree, counted at every path. */
  maxFiles: number;
  maxDepth: number;
  /** New commits of one chain. Each takes 100 bytes of memory. */
  maxCommits: number;
  /** Nodes that the check of one thread has to know. Each takes 150 bytes of memory. */
  maxNodes: number;
  /** Commits of the user's code that the threads of one fetch bring. */
  maxCodeObjects: number;
};

/** Default limits: far above what agents make, and far below the memory of a machine. */
export const INCOMING_LIMITS: IncomingLimits = {
  maxObjectBytes: NODE_LIMITS.maxBytes,
  maxCommitBytes: MAX_COMMIT_BYTES,
  maxJsonValues: NODE_LIMITS.maxValues,
  maxJsonDepth: NODE_LIMITS.maxDepth,
  maxParents: MAX_PARENTS,
  maxFileBytes: MAX_FILE_BYTES,
  maxFiles: 1_000_000,
  maxDepth: 100,
  maxCommits: 500_000,
  maxNodes: 1_000_000,
  maxCodeObjects: 2_000_000,
};

/**
 * A read-only view of objects from a remote, within limits. An object that is too large is not read. An object whose parsing
 * would overflow the stack, or take many times its size in memory, is refused.
 *
 * A refused object is a fault of the data (`ObjectTooLarge`, `CorruptObject`).
 */
export function boundedObjects(objects: ObjectStore, limits: IncomingLimits): ObjectStore {
  return {
    format: objects.format,
    async read(id, options) {
      const maxBytes = Math.min(options?.maxBytes ?? Infinity, limits.maxObjectBytes);
      const object = await objects.read(id, { maxBytes });
      const reason = object && whyNot(object, limits);
      if (reason !== undefined) throw new CorruptObject(id, reason);
      return object;
    },
    has: (id: ObjectId) => objects.has(id),
    write: () => Promise.reject(new Error('fetched objects are read only')),
    close: () => objects.close(),
  };
}

function whyNot({ type, data }: GitObject, limits: IncomingLimits): string | undefined {
  if (type === 'commit') {
    if (data.byteLength > limits.maxCommitBytes)
      return `it has more than the ${limits.maxCommitBytes} bytes of a commit`;
    // A parsed parent takes more memory than its line.
    const parents = countOf(data, '\nparent ', limits.maxParents);
    return parents > limits.maxParents ? `it has more than ${limits.maxParents} parents` : undefined;
  }
  const { maxJsonDepth: maxDepth, maxJsonValues: maxValues } = limits;
  return type === 'blob' ? whyNoJson(data, { maxDepth, maxValues }) : undefined;
}

/** A read-only view of the repository with the fetched objects. */
export function incomingView(repository: Repository, incoming: IncomingObjects): Repository {
  const { refs, location, stateDir, committer, now } = repository;
  const objects: ObjectStore = {
    format: repository.objects.format,
    read: (id, options) => incoming.objects.read(id, options),
    has: (id) => incoming.objects.has(id),
    write: () => Promise.reject(new Error('fetched objects are read only')),
    close: async () => {},
  };
  return { objects, refs, location, stateDir, committer, now, close: async () => {} };
}
