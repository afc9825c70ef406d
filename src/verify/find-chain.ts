import { INDEX_NAME, readCommitNodes } from '../cas/commit-nodes.ts';
import { ObjectMissing } from '../git/format/errors.ts';
import { alone, type ObjectId } from '../git/format/object-id.ts';
import type { Repository } from '../git/repository.ts';
import { readAnyTree, readCommit } from '../git/stores/read.ts';
import { mayBeStart } from '../thread/commit-message.ts';
import { asFault, assertDataError, CorruptThread } from '../thread/thread-errors.ts';
import { ACTIVE_PREFIX, DAY_MS, HISTORY_PREFIX } from '../thread/thread-id.ts';
import { WORKFLOWS_PREFIX } from '../workflow/registry/workflow-refs.ts';

/** The commits of a chain that have to be checked, the newest first. */
type FoundChain = {
  ids: ObjectId[];
  /** The known commit before them; absent if the oldest of them is a start, or the chain is broken. */
  base?: ObjectId;
  /** Why the chain does not lead to a start: a fault of the oldest commit. */
  wrong?: string;
};

/**
 * Walks a chain down to its start, or to a known commit. Reads only whether each commit's tree contains a start. The checks
 * follow on the way up.
 * @param isKnown tells a commit that needs no check; default: none
 * @param maxCommits default: no limit
 */
export async function findChain(
  { objects }: Repository,
  head: ObjectId,
  isKnown: (id: ObjectId) => boolean | Promise<boolean> = () => false,
  maxCommits: number = Infinity,
): Promise<FoundChain> {
  const ids: ObjectId[] = [];
  for (let next = head; ;) {
    const id = alone(next);
    if (await isKnown(id)) return { ids, base: id };
    ids.push(id);
    if (ids.length > maxCommits) {
      const wrong = `it has more than ${maxCommits} new commits after it; fetch a fork of an earlier step first, so that fewer are new`;
      return { ids, wrong };
    }
    let wrong = 'it is no start and has no parent';
    const found = (_: string | null, what: string): void => void (wrong = what);
    const read = await attempt(found, null, async () => {
      const { tree, parents } = await readCommit(objects, id);
      const names = (await readAnyTree(objects, tree)).map(({ name }) => name);
      // The first commit tells that it is no thread, however long its history is.
      if (!names.includes(INDEX_NAME)) throw new CorruptThread(id, 'its tree has no index');
      return { parent: parents[0], isStart: names.includes('start.json') };
    });
    if (read?.isStart) return { ids };
    if (read?.parent === undefined) return { ids, wrong };
    next = read.parent;
  }
}

/** Tells a commit of a thread, damaged or not, from a commit of the user's code. */
export async function isThreadCommit(repository: Repository, id: ObjectId): Promise<boolean> {
  const ignore = (): void => {};
  const nodes = await attempt(ignore, null, () => readCommitNodes(repository, id));
  return nodes === undefined || nodes.entries !== undefined;
}

/** The most local commits that are read. A commit that was not found by then is verified again. */
const MAX_WALKED = 200_000;

type Waiting = { id: ObjectId; atMs: number; parents: readonly ObjectId[]; mayBeStart: boolean };

/**
 * The commits that local threads, or workflows, reach. They were verified before a ref led to them.
 *
 * Most questions need no walk: the commit is a head, or is not in the repository at all. Otherwise local history is walked,
 * newest first, to one day before the commit in question. A commit that is not found is verified again, so a wrong clock
 * costs only time.
 */
export class VerifiedCommits {
  readonly #repository: Repository;
  readonly #heads: ReadonlySet<ObjectId>;
  readonly #met = new Set<ObjectId>();
  /** Commits whose parents were not visited yet, sorted by time, the newest last. */
  #waiting: Waiting[] | undefined;

  /** The commits that some commits reach. */
  constructor(repository: Repository, heads: ReadonlySet<ObjectId>) {
    this.#repository = repository;
    this.#heads = heads;
  }

  /**
   * The commits that local refs of one kind reach. A sound commit of a thread is no sound version of a workflow, and the
   * reverse.
   */
  static async of(repository: Repository, kind: 'threads' | 'workflows'): Promise<VerifiedCommits> {
    const heads = new Set<ObjectId>();
    for (const prefix of kind === 'threads' ? [ACTIVE_PREFIX, HISTORY_PREFIX] : [WORKFLOWS_PREFIX]) {
      for (const { id } of await repository.refs.list(prefix)) heads.add(id);
    }
    return new VerifiedCommits(repository, heads);
  }

  /** Tells whether a commit was verified. May return false for a verified commit. */
  async has(id: ObjectId): Promise<boolean> {
    if (this.#heads.has(id) || this.#met.has(id)) return true;
    if (this.#heads.size === 0 || !(await this.#repository.objects.has(id))) return false;
    const commit = await readCommit(this.#repository.objects, id).catch(() => undefined);
    if (commit === undefined) return false;
    await this.#walkTo(commit.committer.atMs - DAY_MS, id);
    return this.#met.has(id);
  }

  async #walkTo(untilMs: number, wanted: ObjectId): Promise<void> {
    this.#waiting ??= await this.#begin();
    while (!this.#met.has(wanted) && this.#met.size < MAX_WALKED) {
      const next = this.#waiting.at(-1);
      if (next === undefined || next.atMs < untilMs) return;
      this.#waiting.pop();
      for (const [place, parent] of next.parents.entries()) {
        // The commit before one of a thread belongs to it, too. Other parents may be the user's code.
        if ((place === 0 && !next.mayBeStart) || (await this.#isOurs(parent))) await this.#meet(parent, this.#waiting);
      }
    }
  }

  async #begin(): Promise<Waiting[]> {
    const waiting: Waiting[] = [];
    for (const head of this.#heads) {
      const entry = await this.#read(head);
      if (entry) waiting.push(entry);
    }
    return waiting.toSorted((a, b) => a.atMs - b.atMs);
  }

  async #meet(id: ObjectId, waiting: Waiting[]): Promise<void> {
    if (this.#met.has(id)) return;
    const entry = await this.#read(id);
    if (entry === undefined) return;
    const place = waiting.findLastIndex(({ atMs }) => atMs <= entry.atMs);
    waiting.splice(place + 1, 0, entry);
  }

  async #read(id: ObjectId): Promise<Waiting | undefined> {
    try {
      const { committer, parents, message } = await readCommit(this.#repository.objects, id);
      this.#met.add(id);
      return { id, atMs: committer.atMs, parents, mayBeStart: mayBeStart(message) };
    } catch (error) {
      // The history of a damaged ref ends here.
      if (!(error instanceof ObjectMissing)) assertDataError(error);
      return undefined;
    }
  }

  async #isOurs(id: ObjectId): Promise<boolean> {
    const nodes = await readCommitNodes(this.#repository, id).catch(() => undefined);
    return nodes?.entries !== undefined;
  }
}

/** Something that is wrong with a commit of a thread. */
export type Fault = {
  commit: ObjectId;
  /** The file in the commit's tree; null for the commit itself. */
  path: string | null;
  /** A sentence without its full stop. */
  what: string;
};

export type ReportFault = (path: string | null, what: string) => void;

/**
 * Runs one part of a check. An error that is a fault of the data (`faultOf`) is reported, so that the rest of the check
 * goes on. Other errors are thrown.
 * @returns the result of the part, or `undefined` if an error stopped it
 */
export async function attempt<T>(
  report: ReportFault,
  path: string | null,
  part: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await part();
  } catch (error) {
    report(path, asFault(error));
    return undefined;
  }
}

export function sentenceOf({ commit, path, what }: Fault): string {
  return `commit ${commit}${path === null ? '' : `, ${shorten(path)}`}: ${what}`;
}

/** Records the first fault of a commit. `reason` returns it as a sentence. */
export function firstFault(commit: ObjectId): { report: ReportFault; reason: () => string | undefined } {
  let found: string | undefined;
  return { report: (path, what) => void (found ??= sentenceOf({ commit, path, what })), reason: () => found };
}

const MAX_PATH = 80;

/** Truncates the middle of a long path. Paths from a remote have no length limit, and the error text follows the path. */
function shorten(path: string): string {
  const half = MAX_PATH / 2;
  return path.length > MAX_PATH ? `${path.slice(0, half)}…${path.slice(-half)}` : path;
}
